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

  stand(key: string): Promise<void> {
    return this.process.call('stand', key);
  }

  /** Resolves when the process has reported an event that no call has asked for yet. */
  async told(event: 'acquired' | 'lost' | 'elected' | 'deposed', within?: number): Promise<void> {
    await this.process.next((message) => message.event === event, within);
  }

  /** The view that a holder has on the first line after a suspension of at least `ms`, in which `meanwhile` happens. */
  async viewAfterResume(name: string, meanwhile: () => Promise<unknown>, wallStep = 0): Promise<HolderView> {
    return this.lookAfterResume(meanwhile, wallStep, 'viewAfterResume', name);
  }

  /** Whether a candidate leads, on the first line after a suspension in which `meanwhile` happens. */
  async leadsAfterResume(meanwhile: () => Promise<unknown>): Promise<boolean> {
    return this.lookAfterResume(meanwhile, 0, 'leadsAfterResume');
  }

  /** Suspends the machine while `meanwhile` happens; answers for how many ms. */
  async sleep(meanwhile: () => Promise<unknown>, wallStep = 0): Promise<number> {
    await this.process.suspend();
    await meanwhile();
    return this.process.wake(wallStep);
  }

  /** Sets the wall clock of the process, and nothing else. */
  stepWall(ms: number): void {
    this.process.stepWall(ms);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process.kill();
  }

  private async lookAfterResume<T>(
    meanwhile: () => Promise<unknown>,
    wallStep: number,
    ...call: [string, ...unknown[]]
  ) {
    const answer = this.process.call<T>(...call);
    await this.process.next(({ event }) => event === 'ready to be suspended');
    await this.sleep(meanwhile, wallStep);
    return answer;
  }
}
