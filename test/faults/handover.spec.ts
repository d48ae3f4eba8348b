import { inspect } from 'node:util';
import type { LockHandle, LockService } from 'nestjs-redis-locks';
import { LockBench, record, eventually } from '../../lab/testbed/locks/locks.js';

const bench = new LockBench();

/** The script cache of the server knows both scripts, so each of them is one command. */
async function warmUp(one: LockService, other: LockService): Promise<void> {
  const lock = await other.adopt(await (await one.acquire('warm')).handOver());
  await lock.release();
}

async function setUp(commandTimeout = 5_000) {
  const { proxy, service: from } = await bench.proxied({ renewedLease: 20_000, commandTimeout });
  const to = await bench.service({ renewedLease: 20_000 });
  await warmUp(to, from);
  return { proxy, from, to };
}

describe('a handover while another call of the same process asks for the key', () => {
  /** The adopter gets the lock, and only its release frees the key for the other call. */
  async function expectAdopted(to: LockService, text: string, waiting: Promise<LockHandle>): Promise<void> {
    const adopted = await to.adopt(text);
    await adopted.verify();
    const token = adopted.fencingToken;
    expect(await adopted.release()).toBe(true);
    const next = await waiting;
    expect(next.fencingToken).toBeGreaterThan(token);
    expect(await next.release()).toBe(true);
    await bench.untilNothingIsLeft();
  }

  it('keeps the lock if the server does not know the script yet', async () => {
    const { from, to } = await setUp();
    const lock = await from.acquire('a');
    await bench.redis.admin.script('FLUSH', 'SYNC');
    // Known again, so that its reply comes before the offer is sent as text.
    await (await from.acquire('other')).release();
    // Under way before the offer: its reply names the hold, and comes before the refusal of the script.
    const waiting = from.acquire('a', { fair: true });
    const offering = lock.handOver('30s');
    await expectAdopted(to, await offering, waiting);
  });

  it('keeps the lock if the first attempt failed and is repeated', async () => {
    const { proxy, from, to } = await setUp(1_000);
    const lock = await from.acquire('a');
    proxy.dropRequests();
    await expect(lock.handOver('30s')).rejects.toMatchObject({ code: 'LOCK_STORE' });
    proxy.heal();
    proxy.cutAll();
    const waiting = from.acquire('a');
    waiting.catch(() => undefined);
    // Its reply has named the hold.
    await eventually(async () => (await to.inspect('a'))?.waiters.length === 1, { what: 'the waiter' });
    await expectAdopted(to, await lock.handOver('30s'), waiting);
  });
});

it('the text of a handover is in no log, error, event, rendering, command or value in Redis', async () => {
  const proxy = await bench.proxy();
  const connection = proxy.url;
  const [from, to] = [await bench.service({ connection }), await bench.service({ connection })];
  const events = [from, to].map(record);
  const lock = await from.acquire('a');
  const text = await lock.handOver('30s');
  const [, nonce] = JSON.parse(Buffer.from(text.split('.').at(-1)!, 'base64url').toString()) as [string, string];
  const stored = JSON.stringify([await from.inspect('a'), await bench.redis.admin.hgetall('lock:state:{a}')]);
  const adopted = await to.adopt(text);
  const errors = await Promise.all(
    [to.adopt(text), from.adopt(text), to.adopt(`${text}x`), to.adopt(`x${text}`), to.adopt(text.slice(0, -4))].map(
      (adopting) => adopting.then(() => undefined).catch((error: Error) => inspect(error, { depth: 9 })),
    ),
  );
  expect(errors.every((error) => error !== undefined)).toBe(true);
  const options = { depth: 9, showHidden: true };
  const seen = [
    stored,
    ...errors,
    ...[lock, adopted, from, to].flatMap((each) => [inspect(each, options), JSON.stringify(each)]),
    inspect(lock, { ...options, customInspect: false }),
    JSON.stringify([events, bench.lines]),
    JSON.stringify(proxy.commands.map(({ name, args }) => [name, args])),
  ].join('\n');
  expect(seen).toContain('handover:');
  for (const secret of [text, nonce, text.split('.').at(-1)!]) expect(seen).not.toContain(secret);
  await adopted.release();
});
