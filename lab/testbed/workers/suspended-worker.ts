import type { AcquireOptions } from '../../../lib/index.js';
import type { RedisLockModuleOptions } from '../../../lib/module/redis-lock.options.js';
import type { HolderView } from '../locks/fault-locks.js';
import { startWorker, type WorkerProcess } from './processes.mjs';

const WORKER = new URL('fault-worker.mjs', import.meta.url);

/** A process with a lock service on a machine of its own, which a test suspends and resumes. */
export class SuspendedWorker implements AsyncDisposable {
  private process!: WorkerProcess;

  static async start(options: RedisLockModuleOptions): Promise<SuspendedWorker> {
    const worker = new SuspendedWorker();
    worker.process = await startWorker(WORKER, { canBeSuspended: true });
    await worker.process.call('start', { shutdownTimeout: 0, ...options });
    return worker;
  }

  acquire(name: string, key: string, options?: AcquireOptions): Promise<HolderView & { readonly token: number }> {
    return this.process.call('acquire', name, key, options);
  }

  view(name: string): Promise<HolderView> {
    return this.process.call('view', name);
  }

  verify(name: string): Promise<void> {
    return this.process.call('verify', name);
  }

  release(name: string): Promise<boolean> {
    return this.process.call('release', name);
  }

  /** Resolves when the process has reported an event that no call has asked for yet. */
  async told(event: 'acquired' | 'lost', within?: number): Promise<void> {
    await this.process.next((message) => message.event === event, within);
  }

  /** The view that a holder has on the first line after a suspension, in which `meanwhile` happens. */
  async viewAfterResume(name: string, meanwhile: () => Promise<unknown>): Promise<HolderView> {
    const view = this.process.call<HolderView>('viewAfterResume', name);
    await this.process.next(({ event }) => event === 'ready to be suspended');
    await this.sleep(meanwhile);
    return view;
  }

  /** Suspends the machine while `meanwhile` happens. */
  async sleep(meanwhile: () => Promise<unknown>): Promise<void> {
    await this.process.suspend();
    await meanwhile();
    this.process.wake();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process.kill();
  }
}
