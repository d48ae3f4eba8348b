import { LinkedList, type Linked } from '../common/linked-list.js';
import type { Hold } from './hold.js';
import type { Watchdog } from './watchdog.js';

/** After so many ms a handle may have been dropped. Most handles are released before. */
const GUARDED_AFTER = 1_000;

/** What a caller has of its holds. The engine refers to it only while it is young. */
interface Handle extends Linked<Handle> {
  readonly holds: readonly Hold[];
}

/** Stops the renewal of holds whose handles are garbage-collected before they are released. */
export class DroppedHandles {
  /** Handles that are not registered yet: registering costs as much as the rest of an acquisition. */
  private readonly young = new LinkedList<Handle>();
  private readonly registry: FinalizationRegistry<Hold>;
  private timer: NodeJS.Timeout | undefined;

  constructor(watchdog: Watchdog) {
    this.registry = new FinalizationRegistry((hold) => {
      hold.handles -= 1;
      if (hold.handles === 0) watchdog.abandon(hold);
    });
  }

  guard(handle: Handle): void {
    this.young.append(handle);
    this.timer ??= setTimeout(() => this.register(), GUARDED_AFTER).unref();
  }

  /** The handle was released. */
  unguard(handle: Handle): void {
    if (!this.young.remove(handle)) this.registry.unregister(handle);
  }

  private register(): void {
    this.timer = undefined;
    for (const handle of this.young.takeAll()) {
      for (const hold of handle.holds) this.registry.register(handle, hold, handle);
    }
  }
}
