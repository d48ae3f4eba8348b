import { systemClock, type Clock } from '../../common/clock.js';
import { outside } from '../../common/async-context.js';
import { LockConfigError } from '../../errors/index.js';
import type { ClientRecord } from '../client-records.js';
import type { AcquireAllReply, AcquireRequest, HeldReply, LockStoreListener } from '../lock-store.js';
import { MemoryLatch } from './memory-latch.js';
import { MemoryLock, type MemoryServer } from './memory-lock.js';

/** After how many microtasks a message follows its reply, which itself passes through a few of them. */
const TURNS_BEHIND = 10;

/** A message to a client. */
type Message = (client: LockStoreListener) => void;
type Subscriber = (message: Message) => void;

/** The state that the clients of one process share: the locks, the clock for leases, and the listeners of the clients. */
export class MemoryBackend implements MemoryServer {
  now = 0;
  micros = 0;
  private readonly locks = new Map<string, MemoryLock>();
  private readonly latches = new Map<string, MemoryLatch>();
  /** What clients say of themselves. */
  readonly records = new Map<string, ClientRecord>();
  private readonly clients = new Map<string, Subscriber>();
  private messages: Array<() => void> = [];

  constructor(
    private readonly clock: Clock = systemClock,
    /** The offset of the clock, so that the time looks like that of a server and is never set. */
    private readonly origin = Date.now() - clock.now(),
  ) {}

  /** Subscribes a client to its messages. */
  subscribe(client: string, subscriber: Subscriber): void {
    this.clients.set(client, subscriber);
  }

  /** Forgets a client and its places in the queues. Its holds last as long as their leases. */
  leave(client: string): Promise<void> {
    this.clients.delete(client);
    this.records.delete(client);
    return this.execute(() => {
      for (const lock of this.locks.values()) lock.leave(client);
    });
  }

  /** Executes a call: asynchronously, at one moment in time, with its messages after the reply. */
  async execute<Reply>(call: () => Reply): Promise<Reply> {
    await Promise.resolve();
    const time = this.origin + this.clock.now();
    this.now = Math.floor(time);
    this.micros = Math.floor(time * 1_000);
    const reply = call();
    const messages = this.messages;
    this.messages = [];
    if (messages.length > 0) void this.deliver(messages);
    return reply;
  }

  /** Executes a call on a lock, and removes the lock if nothing of it is left. */
  withLock<Reply>(key: string, call: (lock: MemoryLock) => Reply): Reply {
    return use(this.locks, key, () => new MemoryLock(key, this), call);
  }

  /** Executes a call on the latches of a key, and removes them if nothing is left. */
  withLatch<Reply>(key: string, call: (latch: MemoryLatch) => Reply): Reply {
    return use(this.latches, key, () => new MemoryLatch(key, this), call);
  }

  /** Acquires several locks in one step, or none. */
  acquireAll(requests: readonly AcquireRequest[]): AcquireAllReply | undefined {
    for (const request of requests) {
      const obstacle = this.withLock(request.key, (lock) => lock.obstacleTo(request));
      if (obstacle === 'unknown') return undefined;
      if (obstacle !== undefined) return { outcome: 'busy', key: request.key, holders: obstacle };
    }
    const single = { waits: false, batchSize: 1, uncontendedBatchSize: 1 };
    return requests.map((request) =>
      this.withLock(request.key, (lock) => {
        // A set that was granted before has no places for others.
        const places = lock.has(request.id) ? { batchSize: 1 } : undefined;
        return { ...(lock.acquire({ ...request, ...single }) as HeldReply), ...places };
      }),
    );
  }

  /** The keys that are held at this moment. */
  heldKeys(): string[] {
    return [...this.locks.values()].flatMap((lock) => (lock.isHeld ? [lock.key] : []));
  }

  /** How many locks and latches are stored. */
  get size(): { readonly locks: number; readonly latches: number } {
    return { locks: this.locks.size, latches: this.latches.size };
  }

  isPresent(client: string): boolean {
    return this.clients.has(client);
  }

  tell(client: string, message: Message): void {
    this.messages.push(() => this.clients.get(client)?.(message));
  }

  /** Outside of the async context, and of the scopes of locks, of the call that caused the messages. */
  private async deliver(messages: ReadonlyArray<() => void>): Promise<void> {
    for (let turn = 0; turn < TURNS_BEHIND; turn++) await Promise.resolve();
    for (const message of messages) outside(message);
  }
}

/**
 * Calls a function with the entry of a key, or with a new one, which is kept only if there is something to keep. Looks at
 * an old entry, too: so expired entries do not pile up, and need no timer.
 */
function use<T extends { isExpired(): boolean }, Reply>(
  entries: Map<string, T>,
  key: string,
  make: () => T,
  call: (entry: T) => Reply,
): Reply {
  const entry = entries.get(key) ?? make();
  const reply = call(entry);
  const [oldest = [key, entry] as const] = entries;
  for (const [name, each] of [oldest, [key, entry] as const]) {
    entries.delete(name);
    if (!each.isExpired()) entries.set(name, each);
  }
  return reply;
}

/** The place of this process's backends for every copy of the package: as ES modules and as CommonJS, or two copies. */
const SHARED = Symbol.for('nestjs-redis-locks:memory-backends');

/** Grows with each change of the methods of `MemoryBackend` that another copy of the package calls. */
const VERSION = 3;

/** The backends of a process by their prefixes, and the version of the copy that made them. */
interface SharedBackends {
  readonly version: number;
  readonly byPrefix: Map<string, MemoryBackend>;
}

/**
 * Returns the backend that all clients of this process with this prefix share, like one Redis.
 * @throws LockConfigError if a copy of the package with another version of the backends was loaded before
 */
export function sharedBackend(keyPrefix: string): MemoryBackend {
  const own: SharedBackends = { version: VERSION, byPrefix: new Map() };
  const shared = ((globalThis as { [SHARED]?: SharedBackends })[SHARED] ??= own);
  if (shared.version !== VERSION) {
    throw new LockConfigError(
      `store: 'memory' found locks of version ${shared.version} in this process, and this copy of nestjs-redis-locks ` +
        `writes version ${VERSION}: two versions of the package are loaded. Install one of them (npm ls nestjs-redis-locks).`,
    );
  }
  let backend = shared.byPrefix.get(keyPrefix);
  if (backend === undefined) shared.byPrefix.set(keyPrefix, (backend = new MemoryBackend()));
  return backend;
}
