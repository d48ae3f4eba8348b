import { describe } from '../common/describe.js';
import { isThenable } from '../common/thenable.js';
import { LockConfigError, LockLostError } from '../errors/index.js';
import type { OnLost, ReleaseMode, RunOptions } from '../options/acquire-options.js';
import type { CallContext } from '../options/resolve-acquire-options.js';
import type { Acquirer } from './acquirer.js';
import type { LockHandle } from './handles/lock-handle.js';
import { LockScope } from './lock-scope.js';

/** Runs functions while it holds a lock. */
export class LockRunner {
  constructor(
    private readonly acquirer: Acquirer,
    private readonly defaults: { readonly onLost: OnLost; readonly release: ReleaseMode },
  ) {}

  /**
   * Acquires the lock, runs `task` in its scope, and releases it. The caller gets what the task throws, whatever the
   * release does.
   */
  async run<T>(
    key: string | readonly string[],
    task: (lock: LockHandle) => T | Promise<T>,
    options: RunOptions,
    context?: CallContext,
  ): Promise<T> {
    refuseAllButTasks(task, options);
    const call = this.acquirer.runCalls.read(options, context);
    const { onLost = this.defaults.onLost, release = this.defaults.release } = call;
    const lock = this.acquirer.reenter(key, call) ?? (await this.acquirer.take(key, call));
    if (typeof onLost === 'function') lock.onLost(onLost);
    const scope = LockScope.ofLock(lock);
    let result: T;
    try {
      result = await scope.run(() => begun(task(lock)));
    } catch (error) {
      scope.end();
      if (release === 'background') lock.releaseInBackground();
      else if (!lock.releaseAtOnce()) await lock[Symbol.asyncDispose]();
      throw error;
    }
    scope.end();
    if (release === 'background') lock.releaseInBackground();
    else if (!lock.releaseAtOnce()) await lock[Symbol.asyncDispose]();
    if (onLost !== 'ignore' && lock.loss !== undefined) throw lostDuringTask(lock.loss, result);
    return result;
  }
}

/**
 * A query of an ORM starts when its `then` is called. This calls it in the scope of the lock, where nested calls re-enter;
 * `await` would call it outside.
 */
function begun<T>(result: T | Promise<T>): T | Promise<T> {
  if (result instanceof Promise || !isThenable(result)) return result;
  return Promise.resolve(result as PromiseLike<T>);
}

function refuseAllButTasks(task: unknown, options: unknown): void {
  if (typeof task === 'function') return;
  throw new LockConfigError(
    typeof options === 'function'
      ? 'run takes the task before the options: write run(key, task, options).'
      : `run takes a function to run while the lock is held; this is ${describe(task)}: write run(key, async (lock) => { … }).`,
  );
}

function lostDuringTask(loss: LockLostError, result: unknown): LockLostError {
  const { message, key, method, lossReason } = loss;
  const error = new LockLostError(message, { key, method, cause: loss, lossReason });
  error.result = result;
  return error;
}
