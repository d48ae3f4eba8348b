import { expect, it } from '@jest/globals';
import { LockBench } from '../../../lab/testbed/locks/locks.js';
import { RespProxy } from '../../../lab/testbed/proxies/resp-proxy.mjs';

const bench = new LockBench();

it.each([
  ['one key', 'a'],
  ['several keys', ['a', 'b']],
])('%s that are requested at shutdown are not kept', async (_name, keys) => {
  const proxy = await RespProxy.start({ port: bench.redis.port });
  const service = await bench.service({ connection: `redis://127.0.0.1:${proxy.port}`, shutdownTimeout: 1_000 });
  await (await service.acquire('warm')).release();
  await (await service.acquire(['warm', 'warm2'])).release();
  proxy.delay({ reply: 100 });
  const asked = proxy.seen(({ name }) => name === 'evalsha');
  const acquiring = service.acquire(keys).then(
    () => 'acquired',
    (error: Error) => error.message,
  );
  await asked;
  await service.close();
  const said = await acquiring;
  const left = await bench.redis.admin.keys('lock:state:*');
  await proxy[Symbol.asyncDispose]();
  expect(left).toEqual([]);
  expect(said).toContain('shutting down');
});
