import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';

const LIBRARY = new URL('../../../dist/esm/testing/index.js', import.meta.url).href;

/** The output of a script that only waits for locks in memory. */
async function printed(script: string): Promise<string> {
  const source = `import { LockTesting } from '${LIBRARY}'; const testing = new LockTesting(); const { service } = testing; ${script}`;
  // Jest passes the colours of its terminal on.
  const env = { ...process.env, FORCE_COLOR: '0' };
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', source], { env });
  return stdout;
}

it('the memory store warns once per process, and not in tests', async () => {
  const index = new URL('../../../dist/esm/index.js', import.meta.url).href;
  const source = `
    import 'reflect-metadata';
    import { NestFactory } from '@nestjs/core';
    import { RedisLockModule } from '${index}';
    for (const name of ['one', 'two']) {
      const imports = [RedisLockModule.forRoot({ instance: name, store: 'memory' })];
      const app = await NestFactory.createApplicationContext({ module: class {}, imports }, { logger: ['warn', 'error'] });
      await app.close();
    }`;
  const { JEST_WORKER_ID: _, ...environment } = process.env;
  const env = { ...environment, NODE_ENV: 'development', NO_COLOR: '1' };
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', source], { env });
  const lines = stdout.split('\n').filter((line) => line !== '');
  expect(lines).toEqual([expect.stringMatching(/WARN \[RedisLock\] .*process/)]);
});

it('a wait keeps the process alive even without a connection', async () => {
  expect(
    await printed(`
      const first = await testing.hold('a', { holdAtLeast: 200 });
      await first.release();
      const next = await service.acquire('a');
      console.log('next', await next.release());`),
  ).toBe('next true\n');
});

it('a latch that is awaited keeps the process alive', async () => {
  expect(
    await printed(`
      const latch = service.getCountDownLatch('a');
      await latch.trySetCount(1);
      console.log(await latch.await(200));`),
  ).toBe('false\n');
});

it('held locks do not keep the process alive, nor does a store without waiters', async () => {
  expect(await printed(`await service.acquire('a'); console.log('held');`)).toBe('held\n');
});
