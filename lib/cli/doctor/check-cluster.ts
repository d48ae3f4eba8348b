import { ok, problem, type Finding } from './finding.js';
import type { ServerInfo } from './server-info.js';

const SLOTS = 16_384;

/** A lock can be neither acquired nor released if no master serves its slot. */
export function checkSlots(clusterInfo: ServerInfo): Finding {
  const state = clusterInfo.get('cluster_state') ?? 'unknown';
  const served = Number(clusterInfo.get('cluster_slots_ok'));
  if (state === 'ok' && served === SLOTS) return ok('slots', `all ${SLOTS} are served`);
  return problem(
    'slots',
    `${served} of ${SLOTS} are served, as far as this master knows (cluster_state:${state})`,
    'run redis-cli --cluster check to find the cause; restart the failed masters, or fail over to their replicas',
  );
}

/** A single node of a Cluster serves only a part of the locks, and redirects requests for others. */
export function checkIsNoNode(info: ServerInfo): Finding[] {
  if (info.get('cluster_enabled') !== '1') return [];
  return [
    problem(
      'Cluster',
      'this server is a node of a Cluster, and serves only a part of the locks',
      'connect to the Cluster, here and in the module: {"cluster":[{"host":"…","port":6379}]}',
    ),
  ];
}
