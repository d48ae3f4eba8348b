import { answerUnless, isRefusal, type Deployment } from '../deployment/deployment.js';
import { time } from '../output/texts.js';
import { about, ok, problem, type Finding, type Verdict } from './finding.js';

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
/** Memory counts as nearly full from this share of maxmemory on. */
const NEARLY_FULL = 0.9;

type Kind = Deployment['kind'];

/** What INFO says about each subject, in the order of the report. */
const SUBJECTS: Readonly<Record<string, (info: ServerInfo, kind: Kind) => Verdict>> = {
  'server version'(info) {
    const valkey = info.get('valkey_version');
    const version = info.get('redis_version') ?? '';
    const found = valkey === undefined ? `Redis ${version}` : `Valkey ${valkey} (as Redis ${version})`;
    const [major = 0, minor = 0] = version.split('.').map(Number);
    const isOld = major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]);
    return isOld ? { status: 'problem', found, advice: `use Redis ${OLDEST.join('.')} or later, or Valkey` } : found;
  },

  /** A restart explains locks that were lost at that time. */
  uptime(info) {
    const ms = Number(info.get('uptime_in_seconds') ?? 0) * 1_000;
    return `Redis has run for ${time(ms)}, since ${new Date(Date.now() - ms).toISOString()}`;
  },

  role(info) {
    if (info.get('role') !== 'slave') return 'a master';
    const master = `${info.get('master_host') ?? '?'}:${info.get('master_port') ?? '?'}`;
    const found = `a replica of ${master}, which refuses writes`;
    return { status: 'problem', found, advice: 'connect to the master' };
  },

  /** All keys of locks have a TTL, so every policy but noeviction may evict a lock that is held. */
  'eviction policy'(info) {
    const policy = info.get('maxmemory_policy') ?? 'unknown';
    if (policy === 'noeviction') return policy;
    const advice = 'CONFIG SET maxmemory-policy noeviction (and in redis.conf), or use a separate Redis for locks';
    if (Number(info.get('maxmemory')) !== 0) {
      const found = `${policy}: when its memory is full, Redis may evict locks that are held`;
      return { status: 'problem', found, advice };
    }
    const found = `${policy}, but no maxmemory is set; with one, Redis could evict locks that are held`;
    return { status: 'warning', found, advice };
  },

  /** A lock that was evicted is lost, and so may any other have been. */
  'evicted keys'(info) {
    const evicted = Number(info.get('evicted_keys') ?? 0);
    if (evicted === 0) return 'none since Redis has started';
    const found = `${evicted} since Redis has started; locks that were held may be among them`;
    const advice = 'look for redis_lock_lost_total with the reason unknown; CONFIG SET maxmemory-policy noeviction';
    return { status: 'warning', found, advice };
  },

  memory(info) {
    const [used, most] = [Number(info.get('used_memory')), Number(info.get('maxmemory'))];
    const found = `${megabytes(used)} used${most > 0 ? ` of ${megabytes(most)}` : ', no maxmemory'}`;
    if (most === 0 || used < NEARLY_FULL * most) return found;
    const advice = 'raise maxmemory: a full Redis renews and releases locks, but grants no new ones';
    return { status: 'warning', found, advice };
  },

  saving(info) {
    const saves = info.get('rdb_last_bgsave_status') !== 'err' && info.get('aof_last_write_status') !== 'err';
    if (saves) return 'no save to disk has failed';
    const found = 'the last save to disk failed, and Redis may refuse writes';
    return { status: 'problem', found, advice: 'check the log of Redis and the free disk space' };
  },

  /**
   * Snapshots are no help: most locks are younger than the latest one. A master of Redlock that restarts without its data could
   * vote for a second holder.
   */
  persistence(info, kind) {
    if (info.get('aof_enabled') === '1') return 'append-only file';
    const [effect, advice] = kind === 'redlock' ? LOST_VOTES : LOST_LOCKS;
    return { status: 'warning', found: `no append-only file: ${effect}`, advice };
  },
};

const LOST_VOTES = [
  'after a restart, this master has forgotten its votes',
  'CONFIG SET appendonly yes with appendfsync always, or restart it only after the longest lease has ended',
] as const;
const LOST_LOCKS = [
  'a Redis that restarts grants locks again while their holders still work',
  "CONFIG SET appendonly yes (and in redis.conf), unless your holders' fencing tokens are checked",
] as const;

/** The findings about the answer to INFO. */
export const checkInfo = (info: ServerInfo, kind: Kind): Finding[] => [
  ...(kind !== 'cluster' && info.get('cluster_enabled') === '1' ? [ONE_NODE] : []),
  ...Object.entries(SUBJECTS).map(([check, judge]) => about(check, judge(info, kind))),
];

/** A single node of a Cluster redirects requests for the other locks. */
const ONE_NODE = problem(
  'Cluster',
  'this server is a node of a Cluster, and serves only a part of the locks',
  'connect to the Cluster, here and in the module: {"cluster":[{"host":"…","port":6379}]}',
);

/** A Sentinel answers INFO, as a server does, and has no data. */
export const A_SENTINEL = problem(
  'Sentinel',
  'this server is a Sentinel, which keeps no locks',
  'connect through the Sentinels, here and in the module: {"sentinels":[{"host":"…","port":26379}],"name":"mymaster"}',
);

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

const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
