import { setTimeout as sleep } from 'node:timers/promises';
import type { LockService } from '../../../lib/service/lock.service.js';
import { SentinelBench } from '../../../lab/testbed/locks/sentinel-bench.js';
import { redisKey, timed, RespProxy, eventually, lockError } from '../../../lab/testbed/locks/locks.js';

/** Until a Sentinel makes a replica of an old master it takes eight seconds and more: anything sooner was announced. */
const TOLD = { within: 4_000 };

/** ms in which a Sentinel is missed several times. */
const AWAY = 300;

const bench = new SentinelBench();

/** A client that asks the Sentinel through a proxy. */
async function proxied() {
  const proxy = bench.endLater(await RespProxy.start(bench.sentinels.watcher));
  const { name } = bench.sentinels.connection;
  const connection = { name, sentinels: [{ host: proxy.host, port: proxy.port }] };
  return { proxy, service: await bench.service({ connection }) };
}

/** The connections to the Sentinel that wait for its messages. */
const listening = async (): Promise<string> =>
  String(await bench.sentinels.watcher.admin.call('CLIENT', 'LIST', 'TYPE', 'PUBSUB'));

async function followsMaster(service: LockService): Promise<void> {
  const master = await bench.sentinels.master();
  await eventually(async () => {
    const lock = await service.acquire('a');
    const isThere = await master.admin.exists(redisKey('state', 'a'));
    await lock.release();
    return isThere === 1;
  }, TOLD);
}

it('a Sentinel that was temporarily down still announces a new master', async () => {
  const service = await bench.service();
  await eventually(async () => (await listening()) !== '');
  await bench.sentinels.watcher.kill();
  await sleep(AWAY);
  await bench.sentinels.watcher.start();
  await eventually(async () => (await listening()) !== '', TOLD);
  await bench.sentinels.failover();
  await followsMaster(service);
});

it('a client that missed the message about a new master asks for it', async () => {
  const { proxy, service } = await proxied();
  await eventually(async () => (await listening()) !== '');
  proxy.disconnect();
  await bench.sentinels.failover();
  await proxy.restore();
  await followsMaster(service);
});

it('a message about a new master that arrives while a client connects does not end the client', async () => {
  const { proxy, service } = await proxied();
  await (await service.acquire('a')).release();
  const old = await bench.sentinels.master();
  // The Sentinel's announcements take this long, and its answer to a question for the master's address twice as long.
  proxy.delay({ request: 400, reply: 400 });
  await bench.sentinels.failover();
  await old.cutCommands();
  await eventually(async () => (await service.tryAcquire('a', { waitTimeout: 1_000 }))?.release(), {
    within: 10_000,
    every: 50,
  });
});

/** How often it is closed, after up to so many ms: each time in another moment, of which some are bad ones. */
const CLOSINGS = 120;
const LATEST = 8;

it('a client that is closed while it connects leaves no connection to Sentinels, and no pending start', async () => {
  const starts: Array<ReturnType<typeof timed<void>>> = [];
  for (let i = 0; i < CLOSINGS; i++) {
    const service = bench.make();
    starts.push(timed(service.start()));
    await sleep((i * LATEST) / CLOSINGS);
    await service.close();
  }
  for (const { error, ran } of await Promise.all(starts)) {
    if (error !== undefined) expect(error).toEqual(lockError('LOCK_STORE', 'closed'));
    expect(ran).toBeLessThan(1_000);
  }
  await eventually(async () => (await listening()) === '');
});
