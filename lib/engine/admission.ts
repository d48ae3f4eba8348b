import { settledBy } from '../common/settle.js';
import { TransientSet } from '../common/transient.js';
import { isLockStoreError, LockStoreError } from '../errors/index.js';
import type { EngineContext } from './engine-context.js';
import { aboutKey } from './refusals.js';
import type { WaitTerms } from './waiter.js';

/** Decides whether a new acquisition may begin. */
export class Admission {
  /** Why every acquisition is refused from now on; `undefined`: the engine is open. */
  closing: LockStoreError | undefined;
  private readonly closed = new AbortController();
  /** Aborts when the engine accepts no acquisition any more. */
  readonly signal: AbortSignal = this.closed.signal;
  /** Replies that callers need at a shutdown, too. Those to releases are in `Releases`. */
  private readonly underWay = new TransientSet<Promise<unknown>>();
  private why = 'the application has shut down, make this call before app.close()';
  /** Whether the engine has closed the store. */
  disconnected = false;

  constructor(private readonly context: EngineContext) {}

  /**
   * Why a caller cannot acquire now; `undefined`: it can. While the store is unreachable, a caller that waits sends nothing,
   * and one try fails: its command would run later, when the caller has given up.
   */
  refusal(key: string, { waitTimeout, signal }: WaitTerms): Error | undefined {
    return (
      this.closing ??
      (waitTimeout === 0 ? this.unreachable(key) : undefined) ??
      (signal?.aborted === true ? (signal.reason as Error) : undefined)
    );
  }

  /** Why the store cannot be asked about a key. */
  unreachable(key: string): LockStoreError | undefined {
    const { unreachable } = this.context.store;
    return unreachable && aboutKey(key, unreachable);
  }

  /** Refuses every acquisition from now on; returns the reason. `why`: the beginning of its message. */
  close(why?: string): LockStoreError {
    this.why = why ?? this.why;
    const beginning = why ?? 'the application is shutting down';
    // Temporary for the client of a request: another process can serve its next try.
    this.closing ??= new LockStoreError(`${beginning}: no lock can be acquired any more`, { transient: true });
    this.closed.abort(this.closing);
    return this.closing;
  }

  /**
   * Sends a command that is no acquisition, unless the store is unreachable: the command would run later, when the caller has
   * given up.
   * @param key that the command is about, if it is about one
   * @throws LockStoreError
   */
  async command<T>(key: string | undefined, send: () => Promise<T>): Promise<T> {
    const unreachable = key === undefined ? this.context.store.unreachable : this.unreachable(key);
    if (unreachable !== undefined) throw unreachable;
    return this.replied(send());
  }

  /** Passes a reply on. If the store fails because the engine has closed it, the error says so. */
  async replied<T>(reply: Promise<T>): Promise<T> {
    this.underWay.add(reply);
    try {
      return await reply;
    } catch (error) {
      if (!this.disconnected || !isLockStoreError(error)) throw error;
      throw new LockStoreError(`${this.why}: locks can neither be read nor changed any more`, { cause: error });
    } finally {
      this.underWay.delete(reply);
    }
  }

  /** Resolves when these commands have their replies, or after `timeout` ms. */
  async settled(timeout: number): Promise<void> {
    if (this.underWay.size === 0) return;
    const { timers, clock } = this.context;
    await settledBy(timers, { at: clock.now() + timeout }, Promise.allSettled(this.underWay.values()));
  }
}
