import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { FaultLocks } from '../../lab/testbed/locks/fault-locks.js';
import { startRedis, type RedisServer } from '../../lab/testbed/servers/redis-server.mjs';

const locks = new FaultLocks();
let redis: RedisServer;

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(async () => {
  await locks.closeAll();
  await redis.stop();
});

/** An answer to INFO, of the same length, that reports 5 more seconds of loading. */
const asIfLoading = (info: string): string =>
  info
    .replace('\r\nloading:0', '\r\nloading:1')
    .replace(/rdb_changes_since_last_save:\d+/, (line) => `loading_eta_seconds:${'5'.padStart(line.length - 20, '0')}`);

/** Passes everything on, and has the server say to the first question of each connection that it still loads its data. */
async function startLoadingServer(): Promise<{ url: string; close(): void }> {
  const server = createServer((client) => {
    const upstream = connect(redis.port, redis.host);
    let asked = false;
    client.pipe(upstream);
    upstream.on('data', (chunk: Buffer) => {
      const text = chunk.toString('latin1');
      if (asked || !text.includes('\r\nloading:0')) return client.write(chunk);
      asked = true;
      return client.write(asIfLoading(text), 'latin1');
    });
    for (const socket of [client, upstream]) socket.on('error', () => undefined);
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
  });
  server.listen(0, redis.host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `redis://${redis.host}:${port}`, close: () => void server.close() };
}

it('a server that is loading its data is asked again soon, not after its own estimate', async () => {
  const loading = await startLoadingServer();
  try {
    const since = performance.now();
    const service = await locks.start(loading.url);
    expect(await (await service.acquire('a')).release()).toBe(true);
    expect(performance.now() - since).toBeLessThan(4_500);
  } finally {
    await locks.closeAll();
    loading.close();
  }
});
