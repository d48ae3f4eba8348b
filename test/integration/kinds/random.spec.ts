import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import type { LockService } from 'nestjs-redis-locks';
import type { AcquireOptions } from '../../../lib/locks/acquire-options.js';
import type { LockHandle } from '../../../lib/locks/lock-handle.js';
import { assertNoOverlap, assertTokensGrow, HoldHistory } from '../../support/history.js';
import { LockBench } from '../../support/locks.js';
import { random } from '../../support/random-sections.mjs';

const bench = new LockBench();
const CLIENTS = 5;
const LOOPS = 6;
const ROUNDS = 25;
const PERMITS = 4;
/** How long an outcome may take beyond its `waitTimeout`, on a machine that is busy with other tests. */
const SLACK = 1_500;

/** What one round asks for, and how it ends. */
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
  if (end === 'lapse') options.expire = 60 + Math.round(next() * 60);
  return { keys, options: { ...options, type }, stay, units: 1, end };
}

/** What many who did the same things at random have found. */
class Findings {
  readonly history = new HoldHistory();
  readonly permits: Array<{ at: bigint; units: number }> = [];
  readonly outcomes: Record<string, number> = {};
  readonly late: string[] = [];
  asked = 0;
  answered = 0;

  async round(service: LockService, who: string, { keys, options, stay, units, end }: Plan): Promise<void> {
    this.asked += 1;
    const since = performance.now();
    const outcome = await this.acquire(service, keys, options, units);
    this.answered += 1;
    const took = performance.now() - since;
    const limit = Number(options.waitTimeout) + SLACK;
    if (took > limit) this.late.push(`${who} ${keys.join()}: ${Math.round(took)} ms of ${limit}`);
    const name = typeof outcome === 'string' ? outcome : `${options.type ?? 'permits'}, ${end}`;
    this.outcomes[name] = (this.outcomes[name] ?? 0) + 1;
    if (typeof outcome === 'string') return;
    if (options.permits === undefined) await this.stay(service, who, outcome, options.type === 'read', stay, end);
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
      const { code } = error as { code?: unknown };
      if (error === options.signal?.reason) return 'aborted';
      if (code === 'LOCK_TIMEOUT') return 'timeout';
      // The wait was too short for any answer.
      if (code === 'LOCK_STORE' && (error as Error).message.includes('has not answered yet')) return 'no answer';
      throw error;
    }
  }

  /** Believes in what it holds for as long as the handle says so. */
  private async stay(
    service: LockService,
    who: string,
    handle: LockHandle,
    isShared: boolean,
    length: number,
    end: Plan['end'],
  ): Promise<void> {
    const begin = (shared: boolean): Array<() => void> =>
      [...handle.fencingTokens].map(([key, token]) => this.history.begin({ key, who, token, isShared: shared }));
    let ends = begin(isShared);
    if (!handle.isHeld) throw new Error(`${who} got ${handle.key} when it was over`);
    handle.signal.addEventListener('abort', () => ends.forEach((done) => done()));
    if (end === 'lapse') {
      while (handle.isHeld) {
        await sleep(2);
        // What it does now it does without asking again: it believes until the signal tells it better.
      }
      ends.forEach((done) => done());
      return;
    }
    await sleep(length);
    if (end === 'downgrade') {
      const reading = await service.acquire(handle.key, { type: 'read', owner: handle.owner });
      ends.forEach((done) => done());
      ends = [this.history.begin({ key: handle.key, who, token: reading.fencingToken, isShared: true })];
      await handle.release();
      await sleep(length);
      ends.forEach((done) => done());
      await reading.release();
      return;
    }
    ends.forEach((done) => done());
    await handle.release();
  }

  private async stayWithPermits(handle: LockHandle, units: number, length: number): Promise<void> {
    if (!handle.isHeld) throw new Error('got permits that were over');
    this.permits.push({ at: process.hrtime.bigint(), units });
    await sleep(length);
    this.permits.push({ at: process.hrtime.bigint(), units: -units });
    await handle.release();
  }

  /** The most permits that were believed in at the same time. */
  mostPermits(): number {
    let [used, most] = [0, 0];
    for (const { units } of [...this.permits].sort((a, b) => (a.at < b.at ? -1 : 1))) {
      used += units;
      most = Math.max(most, used);
    }
    return most;
  }
}

describe('readers, writers, permits and sets of keys at random', () => {
  it.each([1, 2, Date.now() % 100_000])('A11 A15 A16 A17 C20 keep to what they say (seed %i)', async (seed) => {
    const services = await bench.serviceList(CLIENTS, { lockWatchdogTimeout: 400, grantTimeout: 200 });
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

    const { history, outcomes, asked, answered, late } = findings;
    process.stdout.write(`seed ${seed}: ${JSON.stringify(outcomes)}, ${history.holds.length} holds\n`);
    expect([asked, answered]).toEqual([CLIENTS * LOOPS * ROUNDS, CLIENTS * LOOPS * ROUNDS]);
    expect(late).toEqual([]);
    expect(history.holds.every(({ to }) => to !== undefined)).toBe(true);
    assertNoOverlap(history.holds);
    assertTokensGrow(history.holds.filter(({ isShared }) => !isShared));
    expect(findings.mostPermits()).toBeLessThanOrEqual(PERMITS);
    // It was not all too easy.
    for (const name of ['read, release', 'write, release', 'write, downgrade', 'read, lapse', 'timeout', 'aborted']) {
      expect([name, outcomes[name] ?? 0]).not.toEqual([name, 0]);
    }
    await bench.untilNothingIsLeft();
  });
});
