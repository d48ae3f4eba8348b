import * as cluster from './cluster.mjs';
import * as pair from './pair.mjs';
import * as redlock from './redlock.mjs';
import * as sentinel from './sentinel.mjs';
import * as single from './single.mjs';

/**
 * `start(installation, needs)` returns `{ connection, servers, serving, untilWhole, stop }`: the connection options of
 * the library, all servers with data, the server of the measured locks, and when the topology is whole again; some also
 * offer `other`, the replica of the serving server.
 */
export const TOPOLOGIES = {
  single: { title: 'one server', ...single },
  pair: { title: 'master and replica', ...pair },
  sentinel: { title: 'Sentinel', ...sentinel },
  cluster: { title: 'Cluster', ...cluster },
  redlock: { title: 'Redlock, 3 masters', ...redlock },
};
