import * as cluster from './cluster.mjs';
import * as pair from './pair.mjs';
import * as redlock from './redlock.mjs';
import * as sentinel from './sentinel.mjs';
import * as single from './single.mjs';

/**
 * `start(installation, needs)` answers `{ connection, servers, serving, untilWhole, stop }`: what the library is given, all servers with
 * data, who serves the measured locks, and when all of it is well again; some can tell `other`, the replica of who serves.
 */
export const TOPOLOGIES = {
  single: { title: 'one server', ...single },
  pair: { title: 'master and replica', ...pair },
  sentinel: { title: 'Sentinel', ...sentinel },
  cluster: { title: 'Cluster', ...cluster },
  redlock: { title: 'Redlock, 3 masters', ...redlock },
};
