/*
 * The table of options and the public interfaces have the same names: checked by tsc with everything else, and never run.
 */
import type {
  AcquireOptions,
  LeaderElectionOptions,
  LockObjectOptions,
  RunOptions,
  SemaphoreOptions,
} from 'nestjs-redis-locks';
import type { AdoptOptions } from '../../lib/options/acquire-options.js';
import type { LatchCountOptions, LatchOptions, LatchWaitOptions } from '../../lib/service/objects/count-down-latch.js';
import type { LockCallOptions } from '../../lib/service/objects/lock.js';
import type { LockDefaults, RedisLockRootOptions } from '../../lib/module/redis-lock.options.js';
import type { LockMethodOptions } from '../../lib/decorators/lock-method.options.js';
import type { SemaphoreCallOptions } from '../../lib/service/objects/semaphore.js';
import type { MODULE_OPTIONS } from '../../lib/module/redis-lock.options.js';
import type { OptionIn } from '../../lib/options/option-table.js';

/** Names on one side only; only `never` compiles. */
type Different<Left, Right> = Exclude<Left, Right> | Exclude<Right, Left>;

const same = <_Difference extends never>(): void => {};

same<Different<keyof AcquireOptions, OptionIn<'acquire'>>>();
same<Different<keyof RunOptions, OptionIn<'run'>>>();
same<Different<keyof AdoptOptions, OptionIn<'adopt'>>>();
same<Different<keyof LockDefaults, OptionIn<'defaults'>>>();
same<Different<keyof RedisLockRootOptions, keyof ReturnType<typeof MODULE_OPTIONS.read>>>();
same<Different<keyof LockMethodOptions, OptionIn<'decorator'>>>();
same<Different<keyof LockCallOptions, OptionIn<'lock'>>>();
same<Different<keyof SemaphoreCallOptions, OptionIn<'semaphore'>>>();
same<Different<keyof LockObjectOptions, OptionIn<'getLock'>>>();
same<Different<keyof SemaphoreOptions, OptionIn<'getSemaphore'>>>();
same<Different<keyof LeaderElectionOptions, OptionIn<'election'>>>();
same<Different<keyof LatchOptions, OptionIn<'trySetCount'>>>();
same<Different<keyof LatchCountOptions, OptionIn<'countDown'>>>();
same<Different<keyof LatchWaitOptions, OptionIn<'await'>>>();

// @ts-expect-error -- a name that only the table has
same<Different<keyof LatchWaitOptions, OptionIn<'await'> | 'another'>>();
// @ts-expect-error -- a name that only the interface has
same<Different<keyof LatchWaitOptions | 'another', OptionIn<'await'>>>();
