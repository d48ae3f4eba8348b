import { answerUnless, isRefusal } from '../deployment/deployment.js';
import { time } from '../output/texts.js';
import { ok, problem, warning, type Finding } from './finding.js';

/** The fields of INFO or CLUSTER INFO by name. */
export type ServerInfo = ReadonlyMap<string, string>;

/** Reads lines such as `role:master`. `undefined`: the user may not call the command. */
export async function readInfo(answer: Promise<string>): Promise<ServerInfo | undefined> {
  const text = await answerUnless(isRefusal, answer);
  const lines = text?.matchAll(/^(\w+):(.*?)\r?$/gm);
  return lines && new Map([...lines].map(([, name, value]) => [name!, value!]));
}

/** The oldest version of Redis that has all commands of the scripts. */
const OLDEST = [6, 2] as const;

export function checkVersion(info: ServerInfo): Finding {
  const valkey = info.get('valkey_version');
  const version = info.get('redis_version') ?? '';
  const name = valkey === undefined ? `Redis ${version}` : `Valkey ${valkey} (as Redis ${version})`;
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isOld = major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]);
  if (!isOld) return ok('server version', name);
  return problem('server version', name, `use Redis ${OLDEST.join('.')} or later, or Valkey`);
}

export function checkRole(info: ServerInfo): Finding {
  if (info.get('role') !== 'slave') return ok('role', 'a master');
  const master = `${info.get('master_host') ?? '?'}:${info.get('master_port') ?? '?'}`;
  return problem('role', `a replica of ${master}, which refuses writes`, 'connect to the master');
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

/** How many hash slots a Cluster has. */
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

/** All keys of locks have a TTL, so every policy but noeviction may evict a lock that is held. */
export function checkEviction(info: ServerInfo): Finding {
  const check = 'eviction policy';
  const policy = info.get('maxmemory_policy') ?? 'unknown';
  if (policy === 'noeviction') return ok(check, policy);
  const advice = 'CONFIG SET maxmemory-policy noeviction (and in redis.conf), or use a separate Redis for locks';
  if (Number(info.get('maxmemory')) === 0) {
    return warning(
      check,
      `${policy}, but no maxmemory is set; with one, Redis could evict locks that are held`,
      advice,
    );
  }
  return problem(check, `${policy}: when its memory is full, Redis may evict locks that are held`, advice);
}

/** A lock that was evicted is lost, and so may any other have been. */
export function checkEvicted(info: ServerInfo): Finding {
  const check = 'evicted keys';
  const evicted = Number(info.get('evicted_keys') ?? 0);
  if (evicted === 0) return ok(check, 'none since Redis has started');
  return warning(
    check,
    `${evicted} since Redis has started; locks that were held may be among them`,
    'look for redis_lock_lost_total with the reason unknown; CONFIG SET maxmemory-policy noeviction',
  );
}

/** A restart explains locks that were lost at that time. */
export function checkUptime(info: ServerInfo): Finding {
  const seconds = Number(info.get('uptime_in_seconds') ?? 0);
  const since = new Date(Date.now() - seconds * 1_000).toISOString();
  return ok('uptime', `Redis has run for ${time(seconds * 1_000)}, since ${since}`);
}

/** Memory counts as nearly full from this share of maxmemory on. */
const NEARLY_FULL = 0.9;

export function checkMemory(info: ServerInfo): Finding {
  const [used, most] = [Number(info.get('used_memory')), Number(info.get('maxmemory'))];
  const found = `${megabytes(used)} used${most > 0 ? ` of ${megabytes(most)}` : ', no maxmemory'}`;
  if (most === 0 || used < NEARLY_FULL * most) return ok('memory', found);
  return warning('memory', found, 'raise maxmemory: a full Redis renews and releases locks, but grants no new ones');
}

export function checkSaving(info: ServerInfo): Finding {
  const saves = info.get('rdb_last_bgsave_status') !== 'err' && info.get('aof_last_write_status') !== 'err';
  if (saves) return ok('saving', 'no save to disk has failed');
  return problem(
    'saving',
    'the last save to disk failed, and Redis may refuse writes',
    'check the log of Redis and the free disk space',
  );
}

/** Snapshots are no help: most locks are younger than the latest one. */
export function checkPersistence(info: ServerInfo): Finding {
  if (info.get('aof_enabled') === '1') return ok('persistence', 'append-only file');
  return warning(
    'persistence',
    'no append-only file: a Redis that restarts grants locks again while their holders still work',
    "CONFIG SET appendonly yes (and in redis.conf), unless your holders' fencing tokens are checked",
  );
}

/** A master that restarts without its data could vote for a second holder. */
export function checkVoteIsKept(info: ServerInfo): Finding {
  if (info.get('aof_enabled') === '1') return ok('persistence', 'append-only file');
  return warning(
    'persistence',
    'no append-only file: after a restart, this master has forgotten its votes',
    'CONFIG SET appendonly yes with appendfsync always, or restart it only after the longest lease has ended',
  );
}

const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
