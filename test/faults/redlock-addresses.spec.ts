import type { LockService } from '../../lib/service/lock.service.js';
import { RedlockBench } from '../integration/redlock/support.js';
import { eventually, RespProxy } from '../../lab/testbed/locks/locks.js';

const bench = new RedlockBench(3);

/** A client that reaches the second master by an address that can be led elsewhere. */
async function redirectable(commandTimeout = 1_000): Promise<{ service: LockService; link: RespProxy }> {
  const link = bench.endLater(await RespProxy.start(bench.masters[1]!));
  const connection = [bench.urls[0]!, link.url, bench.urls[2]!];
  return { service: await bench.service({ connection, commandTimeout }), link };
}

function lead(link: RespProxy, place: number): void {
  link.leadTo(bench.masters[place]!);
  link.cutAll();
}

const warnings = (): string[] =>
  bench.lines.filter((line) => line.startsWith('warn: masters') && line.includes('same server'));

describe('an address of a master that changes to another master', () => {
  it('does not count, and counts again when it leads to a separate server', async () => {
    const { service, link } = await redirectable();
    await service.run('a', () => undefined);
    lead(link, 0);
    await bench.masters[2]!.kill();
    // One server is there, under two addresses.
    await eventually(async () => (await service.acquire('a').catch((error: unknown) => error)) instanceof Error);
    for (let i = 0; i < 5; i += 1) {
      await expect(service.acquire('b')).rejects.toMatchObject({ code: 'LOCK_STORE', transient: true });
    }
    expect(warnings()).toHaveLength(1);
    expect(warnings()[0]).toContain('masters 1 and 2 of connection are the same server now');

    lead(link, 1);
    const lock = await eventually(() => service.acquire('a').catch(() => undefined));
    expect(await lock.release()).toBe(true);
  });

  it('does not count if it leads to another master before its own, and ends no hold', async () => {
    const link = bench.endLater(await RespProxy.start(bench.masters[1]!));
    link.disconnect();
    const connection = [bench.urls[0]!, link.url, bench.urls[2]!];
    const service = await bench.service({ connection, commandTimeout: 1_000 });
    const lock = await service.acquire('held', { renewedLease: '3s' });
    link.leadTo(bench.masters[0]!);
    await link.restore();
    await eventually(() => warnings().length === 1);
    for (let i = 0; i < 3; i += 1) {
      await lock.verify();
      const other = await service.acquire('a', { waitTimeout: '5s' });
      expect(await other.release()).toBe(true);
    }
    lead(link, 1);
    await eventually(async () => {
      const other = await service.acquire('a', { waitTimeout: '5s' });
      const holding = await bench.holding('a');
      await other.release();
      return holding.every(Boolean);
    });
    expect(lock.isHeld).toBe(true);
    expect(await lock.release()).toBe(true);
  });
});
