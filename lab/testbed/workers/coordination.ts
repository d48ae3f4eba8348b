import { afterEach } from '@jest/globals';
import type { RedisLockModuleOptions } from '../../../lib/module/redis-lock.options.js';
import type { ValidHold } from '../history/history.js';
import type { LockBench } from '../locks/locks.js';
import { startWorker, type WorkerProcess } from './processes.mjs';

const WORKER = new URL('coordination-worker.mjs', import.meta.url);

/** Something that a candidate tells, and when that was by `now()`. */
export interface Told {
  readonly at: number;
  readonly token?: number;
  readonly code?: string;
}

/** A process of its own with latches and an election. */
export class CoordinationWorker {
  constructor(readonly process: WorkerProcess) {}

  awaitLatch(key: string, waiters: number): Promise<boolean[]> {
    return this.process.call('awaitLatch', key, waiters);
  }

  countDown(key: string, times: number): Promise<number[]> {
    return this.process.call('countDown', key, times);
  }

  stand(key: string): Promise<void> {
    return this.process.call('stand', key);
  }

  /** The next election or deposition that was not looked at yet. */
  async told(event: 'elected' | 'deposed', within?: number): Promise<Told> {
    return (await this.process.next((message) => message.event === event, within)) as unknown as Told;
  }

  look(): Promise<{ isLeader: boolean; token: number | undefined }> {
    return this.process.call('look');
  }

  terms(): Promise<ValidHold[]> {
    return this.process.call('terms');
  }

  resign(): Promise<boolean> {
    return this.process.call('resign');
  }

  stop(): Promise<void> {
    return this.process.call('stop');
  }
}

/** How a test of `bench` starts such processes; they end after each test. */
export function coordinationWorkers(bench: LockBench) {
  const running: CoordinationWorker[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map((worker) => worker.process.kill()));
  });
  return (count: number, options: RedisLockModuleOptions = {}): Promise<CoordinationWorker[]> =>
    Promise.all(
      Array.from({ length: count }, async () => {
        const worker = new CoordinationWorker(await startWorker(WORKER));
        running.push(worker);
        await worker.process.call('start', { connection: bench.redis.url, ...options });
        return worker;
      }),
    );
}
