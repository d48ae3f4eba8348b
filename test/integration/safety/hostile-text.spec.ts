import { LockBench, redisKey, timed, eventually } from '../../../lab/testbed/locks/locks.js';
import { keysWithTtl } from '../../../lab/testbed/history/leaks.mjs';

const CONTROLS = ['\n', '\r', '\t', '\0', '\u001b[31m', '\u007f', '\u0085', '\u2028', '\u2029'];
const HUGE = 'x'.repeat(100_000);

const bench = new LockBench();

/** Text that would begin a new line, or act on a terminal. */
const BREAKS_LINES = /[\p{Cc}\u2028\u2029]/u;

describe('keys', () => {
  it.each([
    ...CONTROLS.map((text) => [JSON.stringify(text), `a${text}b`] as const),
    ['100 kB', HUGE] as const,
    ['513 bytes of two-byte letters', 'é'.repeat(257)] as const,
    ['half a surrogate pair', 'a\ud800'] as const,
    ['nothing', ''] as const,
    ['braces as a whole', '{a}'] as const,
    ['a brace that closes first', 'a}{b}'] as const,
    ['a blank that is not a space', '\u00a0'] as const,
    ['a template', 'stock:#{#sku}'] as const,
    ['nothing but a template', '#{#sku}'] as const,
  ])('a key with %s is refused in every call, on one short line', async (_, key) => {
    const service = await bench.service();
    for (const work of [
      () => service.acquire(key),
      () => service.tryAcquire(key),
      () => service.run(key, () => 'never'),
      () => service.inspect(key),
      () => service.forceRelease(key),
      async () => service.getLock(key),
      async () => service.getCountDownLatch(key),
      async () => service.getLeaderElection(key),
    ]) {
      const { error } = await timed<unknown>(work());
      expect(error).toMatchObject({ code: 'LOCK_KEY' });
      expect(error.message).not.toMatch(BREAKS_LINES);
      expect(error.message.length).toBeLessThan(400);
    }
    expect(await keysWithTtl(bench.redis.admin)).toEqual([]);
  });

  it.each([undefined, null, 42, {}, [], ['a', 1], Symbol('a'), () => 'a', { toString: () => 'a' }])(
    'a key that is not a string (%p) is refused, and the task does not run',
    async (key) => {
      const service = await bench.service();
      expect((await timed(service.acquire(key as never))).error).toMatchObject({ code: 'LOCK_KEY' });
      expect(await keysWithTtl(bench.redis.admin)).toEqual([]);
    },
  );
});

describe('owners', () => {
  it.each([
    ...CONTROLS.map((text) => [JSON.stringify(text), `a${text}b`] as const),
    ['a space', 'a b'] as const,
    ['100 kB', HUGE] as const,
    ['129 characters', 'x'.repeat(129)] as const,
    ['nothing', ''] as const,
    ['half a surrogate pair', 'a\ud800'] as const,
    ['a number', 42] as const,
    ['null', null] as const,
    ['an object', { toString: () => 'a' }] as const,
  ])('an owner with %s is refused, on one short line', async (_, owner) => {
    const service = await bench.service();
    const { error } = await timed(service.acquire('a', { owner: owner as never }));
    expect(error).toMatchObject({ code: 'LOCK_CONFIG' });
    expect(error.message).not.toMatch(BREAKS_LINES);
    expect(error.message.length).toBeLessThan(400);
    expect(await keysWithTtl(bench.redis.admin)).toEqual([]);
  });

  it('owners that differ are different owners, whatever they are made of', async () => {
    const service = await bench.service();
    const owners = 'a A ä a\u0308 a1 1 0 -1 1e3 exclusive kept a:1 🔑 %41 \\n ""'.split(' ');
    for (const owner of owners) {
      const handle = await service.acquire('a', { owner });
      expect(handle.owner).toBe(owner);
      for (const other of owners) {
        // On a busy machine Redis may answer too late for one try.
        const [again] = await eventually(async () => [await service.tryAcquire('a', { owner: other })]);
        expect([owner, other, again !== null]).toEqual([owner, other, owner === other]);
        await again?.release();
      }
      expect(await handle.release()).toBe(true);
    }
    await bench.untilNothingIsLeft();
  });
});

it('log lines and errors stay on one line, whatever the key, owner and errors of Redis are', async () => {
  const service = await bench.service({ renewedLease: 900 });
  const key = '"; \u202Egnp.exe \u200B \u00ad ключ\u00a0{x}';
  const handle = await service.acquire(key, { owner: 'o\u202Ewner', maxRenewTimes: 1 });
  const aborted = new Promise((resolve) => handle.signal.addEventListener('abort', resolve));
  await aborted;
  await service.acquire('many', {
    onLost: () => {
      throw new Error('two\nlines\u2028three');
    },
  });
  await bench.redis.admin.del(redisKey('state', 'many'));
  await eventually(() => bench.lines.some((line) => line.includes('onLost')));
  expect(bench.lines.length).toBeGreaterThanOrEqual(3);
  for (const line of bench.lines) expect(line).not.toMatch(BREAKS_LINES);
});
