// @ts-check
import { eventually, eventuallyPasses } from '../wait/eventually.mjs';
import { startRedis } from './redis-server.mjs';

/** The name under which the Sentinels know the master. */
export const MASTER_NAME = 'mymaster';

/** After how many ms without an answer a Sentinel takes a server for dead. */
const DOWN_AFTER = 600;
const FAILOVER_TIMEOUT = 1_500;

/**
 * The users of the parts that talk to each other. Without its user a part is cut off from the others as by a network,
 * while clients, which need none, still reach all of them: as a partition does that leaves some clients in the middle.
 */
const FIRST_SENTINEL = 'first-sentinel';
const OTHER_SENTINELS = 'other-sentinels';
const PEERS = 'peers';
const REPLICA = 'replica';

/**
 * @typedef {import('./redis-server.mjs').RedisServer} RedisServer
 *
 * @typedef {object} RedisSentinelsOptions
 * @property {1 | 3} [sentinels] how many; of three, two have to agree, and `cutOff` works. Default 1: it decides alone,
 *   as several may split their votes, which takes them twice the failover timeout to get over
 * @property {number} [downAfter] after how many ms without an answer a Sentinel takes a server for dead; default 600
 * @property {number} [failoverTimeout] ms; default 1500
 * @property {import('./redis-server.mjs').ServerOptions} [server] of each server and Sentinel
 * @property {(options: import('./redis-server.mjs').RedisServerOptions) => Promise<RedisServer>} [start] starts a server
 */

/**
 * Starts a master, a replica and their Sentinels. They end with `stop()`, or with this process.
 * @param {RedisSentinelsOptions} [options]
 */
export async function startRedisSentinels(options = {}) {
  const { sentinels: count = 1, downAfter = DOWN_AFTER, failoverTimeout = FAILOVER_TIMEOUT } = options;
  const { server, start = startRedis } = options;
  const canBeCutOff = count > 1;
  const users = canBeCutOff ? [FIRST_SENTINEL, OTHER_SENTINELS, REPLICA] : [];
  const args = [
    ...['--repl-ping-replica-period', '1'],
    ...(canBeCutOff ? ['--masteruser', REPLICA, '--masterauth', REPLICA] : []),
    ...users.flatMap((user) => ['--user', ...rightsOf(user)]),
  ];
  // A server writes its role to its own file when a Sentinel changes it, and keeps it over a restart.
  const own = { ...server, args, config: '\n' };
  const servers = await Promise.all([start(own), start(own)]);
  const [master, replica] = /** @type {[RedisServer, RedisServer]} */ (servers);
  await replica.admin.call('REPLICAOF', master.host, master.port);
  await replica.admin.config('REWRITE');
  await eventually(async () => (await replica.admin.info('replication')).includes('master_link_status:up'), {
    what: 'a replica that follows',
  });
  const configOf = (/** @type {number} */ i) => {
    const user = i === 0 ? FIRST_SENTINEL : OTHER_SENTINELS;
    // The second one is the first to notice, so that no two of them stand for election at the same time.
    const ownDownAfter = canBeCutOff && i !== 1 ? Math.round(downAfter * 1.15) : downAfter;
    return [
      ...(canBeCutOff
        ? [['user', ...rightsOf(PEERS)].join(' '), `sentinel sentinel-user ${PEERS}`, `sentinel sentinel-pass ${PEERS}`]
        : []),
      `sentinel monitor ${MASTER_NAME} ${master.host} ${master.port} ${Math.floor(count / 2) + 1}`,
      ...(canBeCutOff
        ? [`sentinel auth-user ${MASTER_NAME} ${user}`, `sentinel auth-pass ${MASTER_NAME} ${user}`]
        : []),
      `sentinel down-after-milliseconds ${MASTER_NAME} ${ownDownAfter}`,
      `sentinel failover-timeout ${MASTER_NAME} ${failoverTimeout}`,
      `sentinel parallel-syncs ${MASTER_NAME} 1`,
      '',
    ].join('\n');
  };
  const starting = Array.from({ length: count }, (_, i) =>
    start({ ...server, config: configOf(i), args: ['--sentinel'] }),
  );
  const sentinels = new RedisSentinels(servers, await Promise.all(starting));
  await sentinels.untilWhole();
  return sentinels;
}

/** @param {string} user */
const rightsOf = (user) => [user, 'on', `>${user}`, '~*', '&*', '+@all'];

/** A master, its replica and their Sentinels, which a test or a laboratory controls. */
export class RedisSentinels {
  /** @param {readonly RedisServer[]} servers @param {readonly RedisServer[]} sentinels */
  constructor(servers, sentinels) {
    this.servers = servers;
    this.sentinels = sentinels;
  }

  /** The value for `connection`. */
  get connection() {
    return { sentinels: this.sentinels.map(({ host, port }) => ({ host, port })), name: MASTER_NAME };
  }

  /** The last Sentinel, whose view counts here: `cutOff` does not affect it. */
  get watcher() {
    return /** @type {RedisServer} */ (this.sentinels.at(-1));
  }

  /** The master by the word of the last Sentinel. */
  async master() {
    const address = await this.watcher.admin.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', MASTER_NAME);
    const port = Number(/** @type {string[]} */ (address)[1]);
    return /** @type {RedisServer} */ (this.servers.find((server) => server.port === port));
  }

  async replica() {
    const master = await this.master();
    return /** @type {RedisServer} */ (this.servers.find((server) => server !== master));
  }

  /** Asks for a failover, as before maintenance; repeats that while the Sentinel is not ready for one. */
  async askForFailover() {
    await eventually(() => this.watcher.admin.call('SENTINEL', 'FAILOVER', MASTER_NAME), {
      ...{ within: 60_000, every: 50, what: 'a Sentinel that agrees' },
    });
  }

  /** Asks for a failover, and resolves when it has happened. */
  async failover() {
    const old = await this.master();
    await this.askForFailover();
    await this.untilMasterIsNot(old);
  }

  /**
   * Resolves to the new master when the Sentinels have replaced an old one.
   * @param {RedisServer} old
   * @returns {Promise<RedisServer>}
   */
  untilMasterIsNot(old) {
    return eventually(
      async () => {
        const master = await this.master();
        return master !== old && (await master.isMaster()) && master;
      },
      { within: 60_000, every: 20, what: 'another master' },
    );
  }

  /**
   * Cuts the master and the first of three Sentinels off from the others, which choose a new master. Clients reach both
   * sides. There is no way back.
   */
  async cutOff() {
    const [master, replica] = [await this.master(), await this.replica()];
    // A part that is refused as one of these users continues as the default user: so the default user loses the rights
    // that only parts need.
    const take = async (
      /** @type {RedisServer} */ { admin },
      /** @type {string[]} */ users,
      /** @type {string[]} */ rights,
    ) => {
      await admin.call('ACL', 'SETUSER', 'default', ...rights);
      await admin.call('ACL', 'DELUSER', ...users);
    };
    const locksAlone = ['resetchannels', '&lock:client:*'];
    const [first] = /** @type {[RedisServer]} */ (this.sentinels);
    await take(first, [PEERS], ['-publish']);
    await take(replica, [FIRST_SENTINEL], [...locksAlone, '-replicaof', '-slaveof']);
    await take(master, [OTHER_SENTINELS, REPLICA], [...locksAlone, '-ping', '-psync', '-replconf']);
  }

  /** Resolves when all Sentinels see each other, the master, and a replica that follows it. */
  untilWhole() {
    return eventuallyPasses(
      async () => {
        const [master, replica] = [await this.master(), await this.replica()];
        await master.admin.publish('testbed:follows', '');
        await master.replicated();
        if (!/master_link_status:up/.test(await replica.admin.info('replication'))) {
          throw new Error('the replica is behind');
        }
        const whole = `status=ok,address=${master.host}:${master.port},slaves=1,sentinels=${this.sentinels.length}`;
        for (const { admin } of this.sentinels) {
          const info = await admin.info('sentinel');
          if (!info.includes(whole)) throw new Error(`a Sentinel says ${info}`);
        }
      },
      { within: 60_000, every: 20 },
    );
  }

  async stop() {
    await Promise.all([...this.sentinels, ...this.servers].map((server) => server.stop()));
  }

  async [Symbol.asyncDispose]() {
    await this.stop();
  }
}
