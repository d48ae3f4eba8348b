import { setTimeout as sleep } from 'node:timers/promises';

export const MASTER_NAME = 'mymaster';

/**
 * The users of the parts that talk to each other. Without its user a part is cut off from the others as by a network,
 * while clients, which need none, still reach all of them: as a partition does that leaves some clients in the middle.
 */
const FIRST_SENTINEL = 'first-sentinel';
const OTHER_SENTINELS = 'other-sentinels';
const PEERS = 'peers';
const REPLICA = 'replica';

const PATIENCE = { within: 60_000, every: 20 };

/**
 * @typedef {object} Node A server, or a Sentinel, whose life is in the hands of a laboratory
 * @property {string} host
 * @property {number} port
 * @property {import('ioredis').Redis} admin a connection to it alone
 * @property {() => Promise<unknown>} stop
 *
 * @typedef {object} NodeOptions
 * @property {string[]} [args]
 * @property {string} [config]
 */

/**
 * Starts a master, its replica and three Sentinels, of which two have to agree.
 * @template {Node} Server
 * @param {(options: NodeOptions) => Promise<Server>} start
 * @param {{ downAfter: number, failoverTimeout?: number }} options in ms
 * @returns {Promise<SentinelTrio<Server>>}
 */
export async function startSentinelTrio(start, { downAfter, failoverTimeout = 3_000 }) {
  const users = [FIRST_SENTINEL, OTHER_SENTINELS, REPLICA];
  const serverArgs = [
    ...['--repl-diskless-sync-delay', '0', '--repl-ping-replica-period', '1'],
    ...['--masteruser', REPLICA, '--masterauth', REPLICA],
    ...users.flatMap((user) => ['--user', ...rightsOf(user)]),
  ];
  const master = await start({ args: serverArgs });
  const replica = await start({ args: [...serverArgs, '--replicaof', master.host, String(master.port)] });
  const configOf = (/** @type {number} */ i) => {
    const user = i === 0 ? FIRST_SENTINEL : OTHER_SENTINELS;
    return [
      ['user', ...rightsOf(PEERS)].join(' '),
      `sentinel sentinel-user ${PEERS}`,
      `sentinel sentinel-pass ${PEERS}`,
      `sentinel monitor ${MASTER_NAME} ${master.host} ${master.port} 2`,
      `sentinel auth-user ${MASTER_NAME} ${user}`,
      `sentinel auth-pass ${MASTER_NAME} ${user}`,
      // The second one is the first to notice, so that no two of them stand for election at the same time.
      `sentinel down-after-milliseconds ${MASTER_NAME} ${i === 1 ? downAfter : Math.round(downAfter * 1.15)}`,
      `sentinel failover-timeout ${MASTER_NAME} ${failoverTimeout}`,
      `sentinel parallel-syncs ${MASTER_NAME} 1`,
      '',
    ].join('\n');
  };
  const sentinels = await Promise.all([0, 1, 2].map((i) => start({ config: configOf(i), args: ['--sentinel'] })));
  const trio = new SentinelTrio([master, replica], sentinels);
  await trio.untilWhole();
  return trio;
}

/** @param {string} user */
const rightsOf = (user) => [user, 'on', `>${user}`, '~*', '&*', '+@all'];

/**
 * A master, its replica and three Sentinels.
 * @template {Node} Server
 */
export class SentinelTrio {
  /**
   * @param {readonly Server[]} servers
   * @param {readonly Server[]} sentinels
   */
  constructor(servers, sentinels) {
    this.servers = servers;
    this.sentinels = sentinels;
  }

  /** What `connection` takes. */
  get connection() {
    return { sentinels: this.sentinels.map(({ host, port }) => ({ host, port })), name: MASTER_NAME };
  }

  /** The master by the word of a Sentinel: the last one, to which nothing happens here. */
  async master() {
    const address = await this.sentinels[2].admin.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', MASTER_NAME);
    return /** @type {Server} */ (
      this.servers.find(({ port }) => port === Number(/** @type {string[]} */ (address)[1]))
    );
  }

  async replica() {
    const master = await this.master();
    return /** @type {Server} */ (this.servers.find((server) => server !== master));
  }

  /** Asks for a failover, as before maintenance. */
  failover() {
    return until(() => this.sentinels[2].admin.call('SENTINEL', 'FAILOVER', MASTER_NAME), 'a Sentinel that agrees');
  }

  /**
   * Cuts the master and the first Sentinel off from the others, which choose a new master. Clients reach both sides.
   * There is no way back.
   */
  async cutOff() {
    const [master, replica] = [await this.master(), await this.replica()];
    // Who is refused as one of these goes on as the default user: so that loses what only they need.
    const take = async (
      /** @type {Server} */ { admin },
      /** @type {string[]} */ users,
      /** @type {string[]} */ rights,
    ) => {
      await admin.call('ACL', 'SETUSER', 'default', ...rights);
      await admin.call('ACL', 'DELUSER', ...users);
    };
    const locksAlone = ['resetchannels', '&lock:client:*'];
    await take(this.sentinels[0], [PEERS], ['-publish']);
    await take(replica, [FIRST_SENTINEL], [...locksAlone, '-replicaof', '-slaveof']);
    await take(master, [OTHER_SENTINELS, REPLICA], [...locksAlone, '-ping', '-psync', '-replconf']);
  }

  /**
   * Resolves to the new master when the Sentinels have replaced an old one.
   * @param {Server} old
   */
  async untilMasterIsNot(old) {
    await until(async () => {
      const master = await this.master();
      return master !== old && isMaster(await master.admin.info('replication'));
    }, 'another master');
    return this.master();
  }

  /** Resolves when all Sentinels see each other, the master, and a replica that follows it. */
  untilWhole() {
    return until(async () => {
      const [master, replica] = [await this.master(), await this.replica()];
      if (!/connected_slaves:1\r/.test(await master.admin.info('replication'))) return false;
      if (!/master_link_status:up/.test(await replica.admin.info('replication'))) return false;
      const whole = `status=ok,address=${master.host}:${master.port},slaves=1,sentinels=3`;
      for (const { admin } of this.sentinels) if (!(await admin.info('sentinel')).includes(whole)) return false;
      return true;
    }, 'three Sentinels that agree');
  }

  async stop() {
    await Promise.all([...this.sentinels, ...this.servers].map((server) => server.stop()));
  }
}

/** @param {string} replication */
const isMaster = (replication) => replication.includes('role:master');

/**
 * @param {() => Promise<unknown>} look
 * @param {string} what
 */
async function until(look, what) {
  const deadline = performance.now() + PATIENCE.within;
  for (;;) {
    /** @type {unknown} */
    let failure;
    try {
      if (await look()) return;
    } catch (error) {
      failure = error;
    }
    if (performance.now() > deadline) throw failure ?? new Error(`${what} did not come about in time`);
    await sleep(PATIENCE.every);
  }
}
