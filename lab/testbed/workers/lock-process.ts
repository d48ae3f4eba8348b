import type { AcquireOptions } from '../../../lib/options/acquire-options.js';
import type { RedisLockModuleOptions } from '../../../lib/module/redis-lock.options.js';
import type { ValidHold } from '../history/history.js';
import { eventually } from '../wait/eventually.mjs';
import { startWorker, type WorkerProcess } from './processes.mjs';

const WORKER = new URL('lock-worker.mjs', import.meta.url);

/** A lock that a process has acquired. */
export interface RemoteHandle {
  readonly number: number;
  /** When it had it, by `now()`. */
  readonly at: number;
  readonly owner: string;
  readonly token: number;
}

export interface Sections {
  readonly key: string;
  /** How many pass at the same time; default 1. */
  readonly waiters?: number;
  /** How often each of them passes. */
  readonly times: number;
  /** The name under which Redis keeps the unguarded counter. */
  readonly counter?: string;
  readonly options?: AcquireOptions;
}

/** The view that a holder in another process has of its lock, on one line. */
export interface HolderView {
  readonly isHeld: boolean;
  /** The code of the error that `assertHeld` throws. */
  readonly assertHeld: string | undefined;
  readonly aborted: boolean;
  readonly remaining: number;
  readonly holdCount: number;
}

/** The view of a holder that knows that it has lost its lock. */
export const LOST: HolderView = { isHeld: false, assertHeld: 'LOCK_LOST', aborted: true, remaining: 0, holdCount: 0 };

/** The lock services of another process. */
export class LockWorker implements AsyncDisposable {
  constructor(readonly process: WorkerProcess) {}

  acquire(key: string, options?: AcquireOptions): Promise<RemoteHandle> {
    return this.process.call('acquire', key, options);
  }

  tryAcquire(key: string, options?: AcquireOptions): Promise<RemoteHandle | null> {
    return this.process.call('tryAcquire', key, options);
  }

  /** Acquires a key and drops the handle; resolves when the process has noticed that no code can release it. */
  async forget(key: string, options?: AcquireOptions): Promise<void> {
    await this.process.call('forget', key, options);
    const noticed = async (): Promise<boolean> => {
      await this.process.call('collectGarbage');
      return (await this.warnings()).some((text) => text.includes('dropped without release'));
    };
    await eventually(noticed, { what: 'a handle found dropped', every: 50 });
  }

  /** The log, as `level text`. */
  lines(): Promise<string[]> {
    return this.process.call('lines');
  }

  async warnings(): Promise<string[]> {
    return (await this.lines()).flatMap((line) => (line.startsWith('warn ') ? [line.slice('warn '.length)] : []));
  }

  /** The errors that would have ended the process, if it `catchesErrors`. */
  escaped(): Promise<string[]> {
    return this.process.call('escaped');
  }

  release({ number }: RemoteHandle): Promise<boolean> {
    return this.process.call('release', number);
  }

  verify({ number }: RemoteHandle): Promise<void> {
    return this.process.call('verify', number);
  }

  look({ number }: RemoteHandle): Promise<HolderView> {
    return this.process.call('look', number);
  }

  /** The view that a holder has on the first line after a suspension, in which `meanwhile` happens. */
  async lookAfterResume({ number }: RemoteHandle, meanwhile: () => Promise<unknown>): Promise<HolderView> {
    const view = this.process.call<HolderView>('lookAfterResume', number);
    await this.process.next(({ event }) => event === 'ready to be suspended');
    await this.sleep(meanwhile);
    return view;
  }

  /** Suspends the machine of the process while `meanwhile` happens. */
  async sleep(meanwhile: () => Promise<unknown>): Promise<void> {
    await this.process.suspend();
    await meanwhile();
    this.process.wake();
  }

  /** Resolves when the signal of something it holds has fired, to when that was. */
  async lost({ number }: RemoteHandle): Promise<number> {
    return (await this.process.next((message) => message.event === 'lost' && message['number'] === number))[
      'at'
    ] as number;
  }

  sections(sections: Sections): Promise<ValidHold[]> {
    return this.process.call('sections', sections);
  }

  stand(key: string): Promise<void> {
    return this.process.call('stand', key);
  }

  /** Ends the candidacy. */
  stop(): Promise<void> {
    return this.process.call('stop');
  }

  /** From when to when it was certainly the leader. */
  terms(): Promise<ValidHold[]> {
    return this.process.call('terms');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process.kill();
  }
}

/** How a process with lock services runs. */
export interface LockWorkerTerms {
  /** So many services; default 1. */
  readonly services?: number;
  /** An error that escapes does not end the process: `escaped` names it. */
  readonly catchesErrors?: boolean;
  /** Whether `sleep` works; Linux only. */
  readonly canBeSuspended?: boolean;
}

/** A process of its own with started services of the built library. */
export async function startLockWorker(
  options: RedisLockModuleOptions,
  { canBeSuspended, ...terms }: LockWorkerTerms = {},
): Promise<LockWorker> {
  const worker = new LockWorker(await startWorker(WORKER, { canBeSuspended }));
  try {
    await worker.process.call('start', options, terms);
  } catch (error) {
    await worker.process.kill();
    throw error;
  }
  return worker;
}
