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
import type { LockDefaults, RedisLockRootOptions, MODULE_OPTIONS } from '../../lib/module/redis-lock.options.js';
import type { LockMethodOptions } from '../../lib/decorators/lock-method.options.js';
import type { SemaphoreCallOptions } from '../../lib/service/objects/semaphore.js';
import type { OptionsOf } from '../../lib/options/option-table.js';

/** Names on one side only; only `never` compiles. */
type Different<Left, Right> = Exclude<Left, Right> | Exclude<Right, Left>;

const same = <_Difference extends never>(): void => {};

same<Different<keyof AcquireOptions, keyof OptionsOf<'acquire'>>>();
same<Different<keyof RunOptions, keyof OptionsOf<'run'>>>();
same<Different<keyof AdoptOptions, keyof OptionsOf<'adopt'>>>();
same<Different<keyof LockDefaults, keyof OptionsOf<'defaults'>>>();
same<Different<keyof RedisLockRootOptions, keyof ReturnType<typeof MODULE_OPTIONS.read>>>();
same<Different<keyof LockMethodOptions, keyof OptionsOf<'decorator'>>>();
same<Different<keyof LockCallOptions, keyof OptionsOf<'lock'>>>();
same<Different<keyof SemaphoreCallOptions, keyof OptionsOf<'semaphore'>>>();
same<Different<keyof LockObjectOptions, keyof OptionsOf<'getLock'>>>();
same<Different<keyof SemaphoreOptions, keyof OptionsOf<'getSemaphore'>>>();
same<Different<keyof LeaderElectionOptions, keyof OptionsOf<'election'>>>();
same<Different<keyof LatchOptions, keyof OptionsOf<'trySetCount'>>>();
same<Different<keyof LatchCountOptions, keyof OptionsOf<'countDown'>>>();
same<Different<keyof LatchWaitOptions, keyof OptionsOf<'await'>>>();

// @ts-expect-error -- a name that only the table has
same<Different<keyof LatchWaitOptions, keyof OptionsOf<'await'> | 'another'>>();
// @ts-expect-error -- a name that only the interface has
same<Different<keyof LatchWaitOptions | 'another', keyof OptionsOf<'await'>>>();
