import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import type { LockService } from 'nestjs-redis-locks';
import { assertNoViolation, now, type ValidHold } from '../../../lab/testbed/history/history.js';
import { between, LockBench } from '../../../lab/testbed/locks/locks.js';
import { RunningTime } from '../../../lab/testbed/wait/running-time.mjs';

const bench = new LockBench();
const KEY = 'stream';
const READERS = 100;
const WRITERS = 5;
const LENGTH = 5_000;
/** ms that a wait may last beyond the readers before it, on a machine that lets this process run. */
const SLACK = 1_000;

interface Visit extends ValidHold {
  readonly asked: bigint;
  readonly token: number;
}

/** The time by which a caller that asked is in Redis' queue: it knows that others hold the key. */
type Queued = Map<string, bigint>;

describe('100 readers and 5 writers on one key for 5 s', () => {
  it('no writer waits longer than for the readers before it', async () => {
    const clients = await bench.serviceList(15);
    const [readers, writers] = [clients.slice(0, 10), clients.slice(10)];
    const visits: Visit[] = [];
    const queued: Queued = new Map();
    let running = true;
    const time = new RunningTime();

    const visit = async (service: LockService, who: string, kind: 'read' | 'write', stay: number): Promise<void> => {
      const asked = now();
      const handle = await service.acquire(KEY, { kind, waitTimeout: Infinity });
      const from = now();
      await sleep(stay);
      const to = now();
      visits.push({ key: KEY, who, asked, from, to, token: handle.fencingToken, isShared: kind === 'read' });
      await handle.release();
    };
    writers.forEach((service, i) =>
      service.events.subscribe(({ type }) => {
        if (type === 'contended') queued.set(`w${i} ${visits.filter(({ who }) => who === `w${i}`).length}`, now());
      }),
    );
    const loops = [
      ...Array.from({ length: READERS }, async (_, i) => {
        while (running) {
          await visit(readers[i % readers.length]!, `r${i}`, 'read', 15 + ((i * 7) % 30));
          await sleep((i * 13) % 20);
        }
      }),
      ...writers.map(async (service, i) => {
        while (running) {
          await visit(service, `w${i}`, 'write', 5);
          await sleep(40 + 20 * i);
        }
      }),
    ];
    await sleep(LENGTH);
    running = false;
    await Promise.all(loops);
    const { took, ran } = time.stop();

    assertNoViolation(visits);
    const reads = visits.filter(({ isShared }) => isShared);
    const writes = visits.filter(({ isShared }) => !isShared);
    let [overtaken, worst] = [0, 0];
    for (let i = 0; i < WRITERS; i++) {
      const own = writes.filter(({ who }) => who === `w${i}`);
      own.forEach((write, nth) => {
        const since = queued.get(`w${i} ${nth}`);
        if (since === undefined) return;
        // A larger token is a later grant: a caller that asked after this writer stood in the queue is behind it, unless it
        // shares the hold of a reader of its process that asked before.
        const earlier = visits.filter(({ token }) => token < write.token);
        const sharesWith = new Set(earlier.filter(({ asked }) => asked <= since).map(({ token }) => token));
        overtaken += earlier.filter(({ token }) => !sharesWith.has(token)).length;
        const before = visits.filter(({ token, to }) => token < write.token && to! > write.asked);
        const lastBefore = before.reduce((latest, { to }) => (to! > latest ? to! : latest), write.asked);
        worst = Math.max(worst, between(lastBefore, write.from));
      });
    }

    const waits = (of: readonly Visit[]): string => {
      const sorted = of.map(({ asked, from }) => between(asked, from)).sort((a, b) => a - b);
      const at = (part: number): string =>
        (sorted[Math.floor((sorted.length - 1) * part)] ?? NaN).toFixed(0).padStart(7);
      return `${String(of.length).padStart(8)}${at(0.5)}${at(0.9)}${at(1)}`;
    };
    const told = [...queued.keys()].length;
    process.stdout.write(
      `           count  p50 ms    p90    max\nreaders ${waits(reads)}\nwriters ${waits(writes)}\n` +
        `${told} writers had to wait; ${overtaken} were overtaken; in at most ${worst.toFixed(0)} ms after the last before them\n`,
    );
    expect(overtaken).toBe(0);
    expect(worst).toBeLessThan(SLACK + took - ran);
    expect(writes.length).toBeGreaterThan(WRITERS * 2);
    expect(reads.length).toBeGreaterThan(READERS);
    expect(told).toBeGreaterThan(WRITERS);
    await bench.untilNothingIsLeft();
  });
});
