import { MASTER_NAME, startRedisSentinels } from '../../testbed/servers/redis-sentinels.mjs';
import { EVERYWHERE } from '../faults/index.mjs';
import { BEHIND_SENTINELS } from '../faults/sentinel.mjs';
import { Networks } from './networks.mjs';
import { FailoverNotes, Pair, said } from './pair.mjs';
import { SERVER, Server } from './server.mjs';

/** ms without an answer. Longer than servers are stopped in passing, so that a failover is a fault of its own. */
const DOWN_AFTER = 1_500;
/**
 * In ms. A Sentinel makes a replica of an old master when that has been a master for 8 s too long, and looks every 10 s:
 * the next failover should not have to wait so long. And it does nothing for 30 s when it has been stopped for 2.
 */
const IMPATIENCE = { 'publish-period': 500, 'info-period': 500, 'tilt-trigger': 20_000 };

/**
 * A master, its replica and a Sentinel, with proxies before all three for each client. `restartedMasterServes`: some clients
 * may also use an old master that has restarted. Then a failover is over only when that has become a replica.
 */
export async function start({ installation, clients, restartedMasterServes = false }) {
  const start = (options) => Server.start(options);
  const server = { ...SERVER, installation };
  const sentinels = await startRedisSentinels({ downAfter: DOWN_AFTER, server, start });
  const pair = new Pair(...sentinels.servers);
  const sentinel = new Sentinel(sentinels.watcher);
  await sentinel.hurry();
  const networks = await Networks.start(clients, [...pair.servers, sentinel.server]);
  const topology = {
    name: 'sentinel',
    servers: [pair],
    sentinel,
    askForFailover: () => sentinels.askForFailover(),
    lockKinds: ['exclusive', 'fair', 'read', 'write', 'permits', 'several', 'owner', 'replicated'],
    faults: [...EVERYWHERE, ...BEHIND_SENTINELS],
    networkOf: (client) => [
      pair.servers.map((server) => networks.before(server, client)),
      [networks.before(sentinel.server, client)],
    ],
    connectionOf(client) {
      const sentinels = client === undefined ? [sentinel.server] : [networks.before(sentinel.server, client)];
      return {
        sentinels: sentinels.map(({ port }) => ({ host: sentinel.server.host, port })),
        name: MASTER_NAME,
        ...(client !== undefined && { natMap: networks.detours(client) }),
      };
    },
    keysLeft: () => pair.master.keysWithTtl(),
    untilWhole: () => sentinels.untilWhole(),
    /** For finding out why a failover did not happen. */
    state: async () => [await sentinel.state(), ...(await pair.roles())].join('\n'),
    async watch(history, now) {
      const notes = new FailoverNotes(history);
      pair.watch(now);
      await sentinel.watch((port) => {
        const next = pair.servers.find((server) => server.port === port);
        // From now on clients know, or could.
        void notes.note(pair, next, { server: 0, told: now() }, restartedMasterServes);
      });
    },
    async stop() {
      await networks.close();
      await Promise.all([pair.stop(), sentinel.stop()]);
    },
  };
  return topology;
}

/** The Sentinel, which names the master. */
class Sentinel {
  server;
  #listener;

  constructor(server) {
    this.server = server;
  }

  get admin() {
    return this.server.admin;
  }

  /** Calls `switched` with the port of each new master. */
  async watch(switched) {
    let known = await this.#masterPort();
    const tell = (port) => {
      if (port === known) return;
      known = port;
      switched(port);
    };
    this.#listener = this.admin.duplicate();
    this.#listener.on('error', () => undefined);
    // The name, then host and port of the old master, and of the new one.
    this.#listener.on('message', (_channel, text) => tell(Number(text.split(' ')[4])));
    // Announcements are missed while this connection is cut, as others are.
    const listen = async () => {
      await this.#listener.subscribe('+switch-master');
      tell(await this.#masterPort());
    };
    this.#listener.on('ready', () => listen().catch(() => undefined));
    await listen();
  }

  async #masterPort() {
    return Number((await this.admin.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', MASTER_NAME))[1]);
  }

  /** Redis before 7 does not allow changes of these: there failovers wait for each other. */
  async hurry() {
    for (const [name, ms] of Object.entries(IMPATIENCE)) {
      await this.admin.call('SENTINEL', 'DEBUG', name, ms).catch(() => undefined);
    }
  }

  async state() {
    const questions = ['MASTER', 'REPLICAS'].map((about) =>
      said(() => this.admin.call('SENTINEL', about, MASTER_NAME)),
    );
    return (await Promise.all([said(() => this.admin.info('sentinel')), ...questions])).join('\n');
  }

  /** The connections that listen for another master. */
  async cut() {
    await this.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
  }

  async restart() {
    await this.server.kill();
    return async () => {
      await this.server.start();
      await this.hurry();
    };
  }

  stop() {
    this.#listener?.disconnect();
    return this.server.stop();
  }
}
