import { readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import type { RedisOptions } from 'ioredis';
import type { LockConnectionOption } from '../../../lib/module/redis-lock.connection.js';
import { eventuallyPasses, startRedis, type RedisServer } from '../../../lab/testbed/locks/locks.js';
import { LockServices } from '../../../lab/testbed/locks/lock-services.js';

let redis: RedisServer;
const locks = new LockServices();
beforeAll(async () => {
  redis = await startRedis();
});
afterEach(() => locks.closeAll());
afterAll(() => {
  Socket.prototype.setKeepAlive = setKeepAlive;
  return redis.stop();
});

/** In how many seconds TCP asks whether the server is still there, for each connection to it. */
type Probes = (server: RedisServer) => Array<number | undefined>;

/** /proc/net/tcp: state 01 is established, timer 02 is keepalive, and its time is in hundredths of a second. */
const LINE = /^\s*\d+: \S+:\S+ \S+:([0-9A-F]{4}) 01 \S+ ([0-9A-F]{2}):([0-9A-F]{8})/gm;

const toldByKernel: Probes = ({ port }) =>
  [...readFileSync('/proc/net/tcp', 'utf8').matchAll(LINE)]
    .filter(([, to]) => parseInt(to!, 16) === port)
    .map(([, , timer, time]) => (timer === '02' ? parseInt(time!, 16) / 100 : undefined));

/** The settings that the sockets of this process received. */
const asked = new Map<Socket, number | undefined>();
const { setKeepAlive } = Socket.prototype;
Socket.prototype.setKeepAlive = function (this: Socket, enable, delay = 0) {
  asked.set(this, enable === true ? delay / 1_000 : undefined);
  return setKeepAlive.call(this, enable, delay);
};

const toldBySockets: Probes = ({ port }) =>
  [...asked].filter(([{ destroyed, remotePort }]) => !destroyed && remotePort === port).map(([, seconds]) => seconds);

/** Only Linux shows the timers of sockets; elsewhere a socket is trusted to follow its settings. */
const probes = process.platform === 'linux' ? toldByKernel : toldBySockets;

const url = (): LockConnectionOption => redis.url;
const withOptions = (options: RedisOptions) => (): LockConnectionOption => ({
  host: redis.host,
  port: redis.port,
  ...options,
});

it.each<[string, () => LockConnectionOption, atLeast: number, atMost: number]>([
  ['after ten idle seconds', url, 0, 10],
  ['when the user wants it', withOptions({ keepAlive: 50_000 }), 30, 50],
])('both connections ask for signs of life %s', async (_when, connection, atLeast, atMost) => {
  await locks.start({ connection: connection() });
  await eventuallyPasses(() => {
    const found = probes(redis);
    expect(found).toHaveLength(2);
    for (const seconds of found) {
      expect(seconds).toBeGreaterThan(atLeast);
      expect(seconds).toBeLessThanOrEqual(atMost);
    }
  });
});

it("the library's connections ask for signs of life as a passed client does", async () => {
  const client = redis.client({ keepAlive: 50_000 });
  await locks.start({ connection: client });
  // The client's own, and two beside it.
  await eventuallyPasses(() => expect(probes(redis).filter((seconds) => seconds! > 30)).toHaveLength(3));
});
