import { describe, expect, it } from '@jest/globals';
import { aborted, timed } from '../../../lab/testbed/locks/locks.js';
import { RedlockBench } from './support.js';

const bench = new RedlockBench(3);
const lease = 1_000;
const options = { renewedLease: lease, commandTimeout: 700 };

describe('a renewal by a majority', () => {
  it('is retried if a majority fails, and the lock is lost before its leases end', async () => {
    const service = await bench.service(options);
    const lock = await service.acquire('a');
    await Promise.all(bench.masters.slice(0, 2).map((master) => master.pause()));
    const { ran } = await timed(() => aborted(lock.signal));
    expect(ran).toBeLessThan(lease + 100);
    const release = await timed(() => lock.release());
    expect(release).toMatchObject({ value: false });
    expect(release.ran).toBeLessThan(options.commandTimeout - 100);
  });
});
