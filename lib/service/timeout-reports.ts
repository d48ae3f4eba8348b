import type { EngineContext } from '../engine/engine-context.js';
import type { LockEngine } from '../engine/lock-engine.js';
import { printable, withoutNumbers } from '../common/describe.js';
import { RepeatedWarnings } from '../common/repeated-warnings.js';
import { settledBy } from '../common/settle.js';
import {
  isLockStoreError,
  isLockTimeoutError,
  LockTimeoutError,
  type LockHolder,
  type LockStoreError,
} from '../errors/index.js';
import type { AcquireTerms } from '../options/resolve-acquire-options.js';
import { findHold, findInScope } from './lock-scope.js';
import { readHolder } from './read-lock-state.js';

/** For so many ms after its wait, a call waits for the name of the holder. It has to end within 300 ms after its wait. */
const REPLY_TIME = 250;
/** For so many ms of it, a call waits for the label and the connection of the holder. Without a label, its id has to do. */
const LABEL_TIME = 80;
/** While so many requests are under way, no further call asks: with thousands of them all calls would end late. */
const MOST_REQUESTS = 200;
/** For so many keys of its scope, a call asks for the waiters, and looks at so many of each. */
const MOST_HELD = 4;
const MOST_WAITERS = 50;

/** A waiter for a lock that the scope of the caller holds. */
type ScopeWaiter = { readonly key: string; readonly client: string; readonly since: number };

/** Some holders of a key, and whether there may be others; `undefined` if the store has failed. */
type Reply = { readonly holders: readonly LockHolder[]; readonly hasMore: boolean } | undefined;

/**
 * Adds the holder to the error of a call that timed out, and logs calls that Redis failed. Calls for a key that end together
 * share one request, and a call whose caller gets no error asks none.
 */
export class TimeoutReports {
  private readonly underWay = new Map<string, Promise<Reply>>();
  private readonly warnings: RepeatedWarnings;

  constructor(
    private readonly engine: LockEngine,
    private readonly context: EngineContext,
  ) {
    this.warnings = new RepeatedWarnings(context.logger, context.clock);
  }

  /** Rejects with the error of a call that began at `since`. If it is a timeout, its message names the holder. */
  async explain(
    error: unknown,
    keys: string | readonly string[],
    { optional, waitTimeout, signal, method, pattern, mode }: AcquireTerms,
    since: number,
  ): Promise<never> {
    if (isLockStoreError(error) && !this.engine.isClosing) this.reportFailure([keys].flat(), error, method ?? pattern);
    if (optional === true || !isLockTimeoutError(error) || error.key === undefined) throw error;
    const { key } = error;
    const own = findHold(this.engine, key, ({ terms }) => [terms.mode.kind, mode.kind].includes('exclusive'));
    const known = own === undefined ? error : waitsForItself(key);
    throw await this.withHolder(known, key, since + waitTimeout + REPLY_TIME, signal);
  }

  private reportFailure(
    [first, ...others]: readonly string[],
    { message }: LockStoreError,
    site: string | undefined,
  ): void {
    const what = `'${first}'${others.length === 0 ? '' : ` and ${others.length} more`}`;
    const where = site === undefined ? '' : ` for ${site}`;
    this.warnings.warn(`${site} ${withoutNumbers(message)}`, `could not acquire ${what}${where}: ${message}`);
  }

  private async withHolder(
    error: LockTimeoutError,
    key: string,
    by: number,
    signal: AbortSignal | undefined,
  ): Promise<LockTimeoutError> {
    const { clock, timers, store } = this.context;
    const isOneTooMany = this.underWay.size >= MOST_REQUESTS && !this.underWay.has(key);
    if (store.unreachable !== undefined || by <= clock.now() || isOneTooMany) return error;
    // Sent together: looking for a deadlock takes no further round trip.
    const reply = Promise.all([this.ask(key), this.waitersInScope()]);
    const hasReply = await settledBy(timers, { at: by, isReply: true, signals: [signal] }, reply);
    const [{ holders = [], hasMore = false } = {}, waiters = []] = hasReply ? await reply : [];
    const [holder, ...others] = holders;
    if (holder === undefined) return error;
    const about = named(holder, others.length, hasMore) + this.deadlockOf(key, holder, waiters);
    return new LockTimeoutError(`${error.message}. ${about}`, { key, holder });
  }

  /** The waiters for the locks that the scope of the caller holds. */
  private async waitersInScope(): Promise<ScopeWaiter[]> {
    const held = new Set<string>();
    findInScope((lock) => {
      if (lock.engine === this.engine && lock.isHeld) for (const key of lock.keys) held.add(key);
      return undefined;
    });
    const keys = [...held].slice(0, MOST_HELD);
    const found = keys.map(async (key) => {
      const { waiters } = await this.engine.inspect(key, MOST_WAITERS, 1);
      return waiters.map(({ id, since }) => ({ key, client: this.context.names.nameOf(id).client, since }));
    });
    return Promise.all(found).then(
      (lists) => lists.flat(),
      () => [],
    );
  }

  /** The sentence about a holder that waits for a lock of the caller, and has held its own since before. */
  private deadlockOf(key: string, { client, since }: LockHolder, waiters: readonly ScopeWaiter[]): string {
    if (client === this.engine.clientId) return '';
    const waiter = waiters.find((each) => each.client === client && each.since >= since.getTime());
    if (waiter === undefined) return '';
    return printable(
      ` A deadlock: the client of the holder waits for '${waiter.key}', which this call's own scope holds. Acquire both in ` +
        `one step, acquire(['${waiter.key}', '${key}']), or in the same order in all calls.`,
    );
  }

  private ask(key: string): Promise<Reply> {
    let reply = this.underWay.get(key);
    if (reply === undefined) {
      reply = this.holdersOf(key).catch(() => undefined);
      this.underWay.set(key, reply);
      void reply.then(() => this.underWay.delete(key));
    }
    return reply;
  }

  private async holdersOf(key: string): Promise<Reply> {
    const { names } = this.context;
    const { holds, hasMore = false } = await this.engine.inspect(key, 1, 1);
    const ids = holds.slice(0, 1).map(({ id }) => id);
    const [connections] = await Promise.all([names.connected(ids, LABEL_TIME), names.learn(ids, LABEL_TIME)]);
    return { holders: holds.map((hold) => readHolder(hold, names, connections)), hasMore };
  }
}

/** The error of a call whose own scope holds the key: the lock is released behind the call, which waits for it. */
const waitsForItself = (key: string): LockTimeoutError =>
  new LockTimeoutError(
    `'${key}' is held by this call's own scope, so it can never be granted to this call: use the lock of the scope ` +
      '(currentLock()), or leave out `reentrant: false`, `owner` and another kind',
    { key },
  );

/** The last sentence of the message. A holder without a named owner is its own owner. Other programs may write it. */
function named(holder: LockHolder, others: number, hasMore: boolean): string {
  const { id, owner, client, label, method, pattern, connected, ttl, kept, since } = holder;
  const who = owner === id ? '' : `owner '${owner}', `;
  const rest = kept ? `released, but kept by holdAtLeast for ${ttl} ms` : `its lease ends in ${ttl} ms unless renewed`;
  const more = others === 0 ? '' : `, and ${hasMore ? 'over ' : ''}${others} more`;
  const where = `client ${label === undefined ? client : `${label} (${client})`}${connected === false ? ', not connected' : ''}`;
  const site = method ?? pattern;
  const what = site === undefined ? '' : ` in ${site}`;
  // A store of Redisson's locks does not know since when.
  const from = Number.isNaN(since.getTime()) ? '' : `since ${since.toISOString()}, `;
  return printable(`Holder: ${who}${where}${what}, ${from}${rest}${more}.`);
}
