import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import type { LockService } from 'nestjs-redis-locks';
import type { AcquireOptions } from '../../../lib/options/acquire-options.js';
import type { LockHandle } from '../../../lib/service/handles/lock-handle.js';
import { assertNoViolation, now, type ValidHold } from '../../../lab/testbed/history/history.js';
import { between, LockBench } from '../../../lab/testbed/locks/locks.js';
import { random } from '../../../lab/testbed/workers/random-sections.mjs';

const bench = new LockBench();
const CLIENTS = 5;
const LOOPS = 6;
const ROUNDS = 20;
const PERMITS = 4;
/** How long an outcome may take beyond its `waitTimeout`, on a machine that is busy with other tests. */
const SLACK = 5_000;

/** The requests of one round, and how it ends. */
interface Plan {
  readonly keys: readonly string[];
  readonly options: AcquireOptions;
  /** ms for which it stays. */
  readonly stay: number;
  readonly units: number;
  /** How the stay ends: by a release, by reading on after writing, or never, so that the lease ends it. */
  readonly end: 'release' | 'downgrade' | 'lapse';
}

function plan(next: () => number): Plan {
  const pick = <T>(...of: readonly T[]): T => of[Math.floor(next() * of.length)]!;
  const options: AcquireOptions = { waitTimeout: pick(0, 60, 400, 4_000, 4_000) };
  if (next() < 0.15) options.signal = AbortSignal.timeout(Math.round(next() * 200));
  if (next() < 0.15) options.holdAtLeast = Math.round(next() * 40);
  const stay = next() < 0.85 ? next() * 12 : next() * 60;
  if (next() < 0.4) {
    const units = 1 + Math.floor(next() * PERMITS);
    return { keys: ['permits'], options: { ...options, permits: PERMITS }, stay, units, end: 'release' };
  }
  const type = next() < 0.6 ? 'read' : 'write';
  if (next() < 0.3) options.fair = true;
  const keys = next() < 0.3 ? pick(['a', 'b'], ['b', 'a'], ['b', 'c', 'a']) : [pick('a', 'a', 'b', 'c')];
  const end = next() < 0.1 ? 'lapse' : type === 'write' && keys.length === 1 && next() < 0.3 ? 'downgrade' : 'release';
  if (end === 'lapse') options.expire = 150 + Math.round(next() * 100);
  return { keys, options: { ...options, kind: type }, stay, units: 1, end };
}

/** The findings of many workers that did the same things at random. */
class Findings {
  readonly holds: ValidHold[] = [];
  readonly permits: Array<{ at: bigint; units: number }> = [];
  readonly outcomes: Record<string, number> = {};
  readonly late: string[] = [];
  asked = 0;
  answered = 0;
  /** A lock that was over already when it was granted; in a process that was busy just then. */
  over = 0;

  async round(service: LockService, who: string, { keys, options, stay, units, end }: Plan): Promise<void> {
    this.asked += 1;
    const since = performance.now();
    const outcome = await this.acquire(service, keys, options, units);
    this.answered += 1;
    const took = performance.now() - since;
    const limit = Number(options.waitTimeout) + SLACK;
    if (took > limit) this.late.push(`${who} ${keys.join()}: ${Math.round(took)} ms of ${limit}`);
    const name = typeof outcome === 'string' ? outcome : `${options.kind ?? 'permits'}, ${end}`;
    this.outcomes[name] = (this.outcomes[name] ?? 0) + 1;
    if (typeof outcome === 'string') return;
    if (options.permits === undefined) await this.stay(service, who, outcome, options.kind === 'read', stay, end);
    else await this.stayWithPermits(outcome, units, stay);
  }

  private async acquire(
    service: LockService,
    keys: readonly string[],
    options: AcquireOptions,
    units: number,
  ): Promise<LockHandle | string> {
    try {
      if (options.permits === undefined) return await service.acquire(keys, options);
      const { permits, ...rest } = options;
      return await service.getSemaphore(keys[0]!, { permits }).acquire(units, rest);
    } catch (error) {
      const { code, transient } = error as { code?: unknown; transient?: unknown };
      if (error === options.signal?.reason) return 'aborted';
      if (code === 'LOCK_TIMEOUT') return 'timeout';
      // On a machine that is busy a short lease ends before the last of several keys is there.
      if (code === 'LOCK_LOST' && keys.length > 1) return 'lost on the way';
      // The wait was too short for any answer, or the process too busy to hear it in time.
      if (code === 'LOCK_STORE' && transient === true) return 'no answer';
      throw error;
    }
  }

  private async stay(
    service: LockService,
    who: string,
    handle: LockHandle,
    isShared: boolean,
    length: number,
    end: Plan['end'],
  ): Promise<void> {
    await this.watch(who, handle, isShared, end === 'lapse' ? Infinity : length);
    if (end === 'lapse') return;
    if (end === 'downgrade') {
      const reading = await service.acquire(handle.key, { kind: 'read', owner: handle.owner });
      await handle.release();
      await this.watch(who, reading, true, length);
      await reading.release();
      return;
    }
    await handle.release();
  }

  /**
   * Watches a lock for a limited time, or until it is lost. A hold has no gaps, so it is valid until the last look that
   * returned `true`. A busy process notices the end of a hold later than others notice the start of the next.
   */
  private async watch(who: string, handle: LockHandle, isShared: boolean, length: number): Promise<void> {
    // The time before the look: the process may be held up in between.
    const from = now();
    if (!handle.isHeld) {
      this.over += 1;
      return;
    }
    const records = [...handle.fencingTokens].map(([key, token]) => ({ key, who, token, isShared, from, to: from }));
    this.holds.push(...records);
    for (let at = from; between(from, at) < length;) {
      await sleep(Math.min(4, length));
      // The time before the look: its result is true from here on at the earliest.
      at = now();
      if (!handle.isHeld) return;
      for (const record of records) record.to = at;
    }
  }

  private async stayWithPermits(handle: LockHandle, units: number, length: number): Promise<void> {
    const from = now();
    if (!handle.isHeld) {
      this.over += 1;
      await handle.release();
      return;
    }
    let until = from;
    for (let at = from; between(from, at) < length; until = at) {
      await sleep(Math.min(4, length));
      at = now();
      if (!handle.isHeld) break;
    }
    this.permits.push({ at: from, units }, { at: until, units: -units });
    await handle.release();
  }

  /** The most permits that were valid at the same time. */
  mostPermits(): number {
    let [used, most] = [0, 0];
    for (const { units } of [...this.permits].sort((a, b) => (a.at < b.at ? -1 : 1))) {
      used += units;
      most = Math.max(most, used);
    }
    return most;
  }
}

describe('random readers, writers, permits and sets of keys', () => {
  it.each([1, 2, Date.now() % 100_000])('exclude each other as specified (seed %i)', async (seed) => {
    const services = await bench.serviceList(CLIENTS, { renewedLease: 400, grantTimeout: 200 });
    const findings = new Findings();
    const loops = services.flatMap((service, client) =>
      Array.from({ length: LOOPS }, async (_, loop) => {
        const next = random(seed * 10_000 + client * 100 + loop);
        for (let round = 0; round < ROUNDS; round++) {
          await findings.round(service, `client ${client}, loop ${loop}, round ${round}`, plan(next));
        }
      }),
    );
    await Promise.all(loops);

    const { holds, outcomes, asked, answered, late } = findings;
    process.stdout.write(`seed ${seed}: ${JSON.stringify(outcomes)}, ${holds.length} holds\n`);
    expect([asked, answered]).toEqual([CLIENTS * LOOPS * ROUNDS, CLIENTS * LOOPS * ROUNDS]);
    expect(late).toEqual([]);
    expect(findings.over).toBeLessThan(holds.length / 20);
    expect(outcomes['no answer'] ?? 0).toBeLessThan(asked / 10);
    assertNoViolation(holds);
    expect(findings.mostPermits()).toBeLessThanOrEqual(PERMITS);
    // It was not all too easy.
    for (const name of ['read, release', 'write, release', 'write, downgrade', 'read, lapse', 'timeout', 'aborted']) {
      expect([name, outcomes[name] ?? 0]).not.toEqual([name, 0]);
    }
    await bench.untilNothingIsLeft();
  });
});
