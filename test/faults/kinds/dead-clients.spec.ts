import { AT_ONCE, between, LockBench, timed, now } from '../../../lab/testbed/locks/locks.js';
import { unawaited } from '../../integration/kinds/support.js';

const bench = new LockBench();
const LEASE = 1_000;
const SHORT = { renewedLease: LEASE, grantTimeout: 300 };
const READ = { kind: 'read' } as const;
const WRITE = { kind: 'write' } as const;

describe('a process that is killed', () => {
  it('as a queued writer is detected by the waiters behind it, also without new requests', async () => {
    const [one, other, doomed] = [await bench.service(SHORT), await bench.service(SHORT), await bench.worker(SHORT)];
    await one.acquire('a', READ);
    void unawaited(doomed.acquire('a', WRITE));
    await bench.untilWaiting('a', 1);
    const reading = other.acquire('a', READ);
    await bench.untilWaiting('a', 2);
    await doomed.process.kill();
    const killed = now();
    await reading;
    expect(between(killed)).toBeLessThan(SHORT.grantTimeout * 1.4 + AT_ONCE);
  });
});

describe('a process that is stopped', () => {
  it('as a queued writer delays the readers behind it until its place is stale, and no longer', async () => {
    const options = { ...SHORT, commandTimeout: 300 };
    const [one, other, frozen] = [
      await bench.service(options),
      await bench.service(options),
      await bench.worker(options),
    ];
    await one.acquire('a', READ);
    const late = timed(() => frozen.acquire('a', { ...WRITE, waitTimeout: '1s' }));
    await bench.untilWaiting('a', 1);
    frozen.process.pause();
    const stopped = now();
    const { value } = await timed(() => other.acquire('a', READ));
    // Two periods of asking and a commandTimeout, and the time until a client asks.
    expect(between(stopped)).toBeLessThan(2 * 240 + 300 + 400 + AT_ONCE);
    frozen.process.resume();
    expect((await late).error).toMatchObject({ code: expect.stringMatching(/LOCK_(TIMEOUT|STORE)/) });
    await value!.verify();
    await bench.untilWaiting('a', 0);
  });
});
