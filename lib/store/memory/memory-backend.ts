import { systemClock, type Clock } from '../../common/clock.js';
import { outside } from '../../common/outside.js';
import { LockConfigError } from '../../errors/index.js';
import type { ClientRecord } from '../client-records.js';
import type { AcquireAllReply, AcquireRequest, LockStoreListener, StoredLock } from '../lock-store.js';
import { FENCE_RETENTION, MAX_RETENTION_AHEAD, MAX_TOKENS_AHEAD } from '../protocol.generated.js';
import { ExpiringMap, type Expiring } from './expiring-map.js';
import { MemoryLatch } from './memory-latch.js';
import { MemoryLock } from './memory-lock.js';
import { clientOf, type MemoryServer } from './memory-server.js';

/** After how many microtasks a message follows its reply, which itself passes through a few of them. */
const TURNS_BEHIND = 10;

/** A message to a client. */
type Message = (client: LockStoreListener) => void;
type Subscriber = (message: Message) => void;

/** The last fencing token of a key. */
class Fence implements Expiring {
  constructor(
    readonly token: number,
    private readonly until: number,
  ) {}

  isExpired(now: number): boolean {
    return this.until <= now;
  }
}

/** What a client says of itself. */
class Registered implements Expiring {
  constructor(
    readonly record: ClientRecord,
    private readonly until: number,
  ) {}

  isExpired(now: number): boolean {
    return this.until <= now;
  }
}

/**
 * The state that the clients of one process share, like one Redis: the locks, the clock for leases, and the channels of
 * the clients. It executes one script after the other.
 */
export class MemoryBackend implements MemoryServer {
  now = 0;
  micros = 0;
  private readonly locks = new ExpiringMap<MemoryLock>();
  private readonly fences = new ExpiringMap<Fence>();
  private readonly latches = new ExpiringMap<MemoryLatch>();
  private readonly records = new ExpiringMap<Registered>();
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

  unsubscribe(client: string): void {
    this.clients.delete(client);
  }

  /** Executes a script: asynchronously, at one moment in time, with its messages after the reply. */
  async execute<Reply>(script: () => Reply): Promise<Reply> {
    await Promise.resolve();
    const reply = this.atThisMoment(script);
    const messages = this.messages;
    this.messages = [];
    if (messages.length > 0) void this.deliver(messages);
    return reply;
  }

  /** Runs a script on a lock, and removes the lock if nothing of it is left. */
  withLock<Reply>(key: string, script: (lock: MemoryLock) => Reply): Reply {
    const lock = this.locks.get(key, this.now) ?? new MemoryLock(key, this);
    this.locks.set(key, lock, this.now);
    const reply = script(lock);
    if (lock.isExpired(this.now)) this.locks.delete(key);
    return reply;
  }

  /** Acquires several locks in one step, or none. */
  acquireAll(requests: readonly AcquireRequest[]): AcquireAllReply | undefined {
    for (const request of requests) {
      const obstacle = this.withLock(request.key, (lock) => lock.obstacleTo(request));
      if (obstacle === 'unknown') return undefined;
      if (obstacle !== undefined) return { outcome: 'busy', key: request.key, holders: obstacle };
    }
    return requests.map((request) => this.withLock(request.key, (lock) => lock.take(request)));
  }

  /** Runs a script on the latches of a key, and removes them if nothing is left. */
  withLatch<Reply>(key: string, script: (latch: MemoryLatch) => Reply): Reply {
    const latch = this.latches.get(key, this.now) ?? new MemoryLatch(key, this);
    this.latches.set(key, latch, this.now);
    const reply = script(latch);
    if (latch.isExpired(this.now)) this.latches.delete(key);
    return reply;
  }

  /** Returns the state of a key, for code that uses the backend itself. */
  inspect(key: string): StoredLock {
    return this.atThisMoment(() => this.withLock(key, (lock) => lock.inspect(this.lastToken(key))));
  }

  /** The keys that are held at this moment. */
  heldKeys(): string[] {
    return [...this.locks.values()].flatMap((lock) => (lock.isHeld ? [lock.key] : []));
  }

  /** Keeps what a client says of itself for `lifetime` ms. */
  writeClient(id: string, record: ClientRecord, lifetime: number): void {
    this.records.set(id, new Registered(record, this.now + lifetime), this.now);
  }

  /** What a client has said of itself. */
  readClient(id: string): ClientRecord | undefined {
    return this.records.get(id, this.now)?.record;
  }

  /** How many locks, fences and latches are stored. */
  get size(): { readonly locks: number; readonly fences: number; readonly latches: number } {
    return { locks: this.locks.size, fences: this.fences.size, latches: this.latches.size };
  }

  // The functions of a server that locks use.

  lastToken(key: string): number {
    return this.fences.get(key, this.now)?.token ?? 0;
  }

  /**
   * Returns the first of this many tokens. Tokens follow the clock and never fall below the last one, so they need not
   * be remembered forever.
   */
  nextToken(key: string, lease: number, wanted: number, least: number): number {
    const token = Math.max(this.lastToken(key) + 1, this.micros);
    const count = token > this.micros ? Math.min(wanted, MAX_TOKENS_AHEAD) : wanted;
    this.rememberToken(key, token + Math.max(count, least) - 1, lease);
    return token;
  }

  rememberToken(key: string, token: number, lease: number): void {
    const ahead = Math.min(Math.max(0, (token - this.micros) / 1_000), MAX_RETENTION_AHEAD);
    this.fences.set(key, new Fence(token, this.now + FENCE_RETENTION + lease + ahead), this.now);
  }

  isPresent(id: string): boolean {
    return this.clients.has(clientOf(id));
  }

  tell(id: string, message: Message): void {
    const client = clientOf(id);
    this.messages.push(() => this.clients.get(client)?.(message));
  }

  private atThisMoment<Reply>(script: () => Reply): Reply {
    const time = this.origin + this.clock.now();
    this.now = Math.floor(time);
    this.micros = Math.floor(time * 1_000);
    return script();
  }

  /** Outside of the async context, and of the scopes of locks, of the call that caused the messages. */
  private async deliver(messages: ReadonlyArray<() => void>): Promise<void> {
    for (let turn = 0; turn < TURNS_BEHIND; turn++) await Promise.resolve();
    for (const message of messages) outside(message);
  }
}

/** The place of this process's backends for every copy of the package: as ES modules and as CommonJS, or two copies. */
const SHARED = Symbol.for('nestjs-redis-locks:memory-backends');

/** Grows with each change of the methods of `MemoryBackend` that another copy of the package calls. */
const VERSION = 2;

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
