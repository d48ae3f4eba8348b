import { LockBench, redisKey, timed, eventually, type RespProxy } from '../../lab/testbed/locks/locks.js';
import { startLockWorker } from '../../lab/testbed/workers/lock-process.js';

const bench = new LockBench({ records: true });
let proxy: RespProxy;
beforeEach(async () => {
  proxy = await bench.proxy();
});

/** Ways in which a release fails, each begun while the lock is held. */
const failures: Array<[string, () => unknown]> = [
  ['Redis does not answer', () => proxy.dropReplies()],
  ['Redis does not hear', () => proxy.dropRequests()],
  ['Redis is away', () => (proxy.refuse(), proxy.cutAll())],
  [
    'Redis refuses',
    async () => {
      await bench.redis.admin.del(redisKey('state', 'a'));
      await bench.redis.admin.set(redisKey('state', 'a'), 'of another program', 'EX', 60);
    },
  ],
];

describe.each(failures)('a release that fails because %s', (reason, fail) => {
  const options = () => ({ connection: proxy.url, commandTimeout: 500, renewedLease: 3_000 });

  it.each(['value', 'error'])('leaves the caller the %s of the task, and logs a warning', async (what) => {
    const service = await bench.service(options());
    const failure = new Error('of the business');
    const task = async (): Promise<string> => {
      await fail();
      if (what === 'error') throw failure;
      return 'value';
    };
    const { value, error } = await timed(service.run('a', task));
    expect(error ?? value).toBe(what === 'error' ? failure : 'value');
    expect(bench.warnings).toEqual([
      expect.stringContaining(
        reason === 'Redis refuses'
          ? "'a' could not be released, so it ends with its lease"
          : "'a' could not be released, so the client tries again until its lease ends",
      ),
    ]);
  });

  it('rejects with LockStoreError from release(), and stops renewals', async () => {
    const service = await bench.service({ ...options(), renewedLease: 900, commandTimeout: 400 });
    const handle = await service.acquire('a');
    await fail();
    const { error } = await timed(handle.release());
    expect(error).toMatchObject({ code: 'LOCK_STORE' });
    expect(handle.isHeld).toBe(false);
    proxy.heal();
    await proxy.accept();
    await bench.redis.admin.set(redisKey('state', 'a'), 'gone with its lease', 'PX', 1, 'XX');
    await bench.untilNothingIsLeft();
    expect(bench.told('lost')).toEqual([]);
  });
});

it('a release that failed because the connection dropped frees the key as soon as Redis is back', async () => {
  const service = await bench.service({ connection: proxy.url, commandTimeout: 500, renewedLease: 30_000 });
  const handle = await service.acquire('a');
  proxy.refuse();
  proxy.cutAll();
  await expect(handle.release()).rejects.toMatchObject({ code: 'LOCK_STORE' });
  await proxy.accept();
  const isFree = async (): Promise<boolean> => (await bench.redis.admin.exists(redisKey('state', 'a'))) === 0;
  await eventually(isFree, { within: 15_000, what: 'the free key' });
});

it('`run` rejects with the same error object that the task threw', async () => {
  const service = await bench.service();
  for (const thrown of [new TypeError('x'), 'a text', undefined, null, { code: 'LOCK_LOST' }, Promise.resolve]) {
    let caught: unknown = 'nothing';
    await service
      .run('a', () => {
        throw thrown;
      })
      .catch((error: unknown) => (caught = error));
    expect(caught).toBe(thrown);
  }
  await bench.untilNothingIsLeft();
});

it('a task that fails after its lock was lost rejects with its own error', async () => {
  const service = await bench.service();
  const failure = new Error('of the business');
  const task = async (): Promise<never> => {
    await service.forceRelease('a');
    throw failure;
  };
  expect((await timed(service.run('a', task))).error).toBe(failure);
  await bench.untilNothingIsLeft();
});

it('failing renewals cause no unhandled rejection and no uncaught exception', async () => {
  const options = { connection: proxy.url, renewedLease: 900, commandTimeout: 400 };
  await using worker = await startLockWorker(options, { catchesErrors: true });
  await worker.process.call('holdCarelessly', ['a', 'b', 'c']);
  // A refused renewal, a renewal without an answer, and a cut connection: all three are retried.
  await bench.redis.admin.del(redisKey('state', 'a'));
  await bench.redis.admin.set(redisKey('state', 'a'), 'of another program', 'EX', 60);
  await eventually(async () => (await worker.lines()).some((line) => line.includes("could not renew 'a'")));
  proxy.dropReplies();
  await eventually(async () => (await worker.lines()).filter((line) => line.includes('onLost throws')).length === 3);
  proxy.heal();
  expect(await worker.escaped()).toEqual([]);
  expect(worker.process.isRunning).toBe(true);
  await worker.process.call('close');
  expect(await worker.escaped()).toEqual([]);
});

it('a rejection of an asynchronous onLost is logged, and does not end the process', async () => {
  await using worker = await startLockWorker(
    { connection: bench.redis.url, renewedLease: 900 },
    { catchesErrors: true },
  );
  await worker.process.call('holdCarelessly', ['a'], true);
  await bench.redis.admin.del(redisKey('state', 'a'));
  const lines = await eventually(async () => {
    const said = await worker.lines();
    return said.some((line) => line.includes("the lock 'a' is not held any more")) ? said : undefined;
  });
  expect(await worker.escaped()).toEqual([]);
  expect(lines.filter((line) => line.startsWith('error'))).toEqual([expect.stringContaining('onLost rejects')]);
});
