import { settledBy } from '../common/settle.js';
import { TransientMap } from '../common/transient.js';
import { isLockStoreError, type LockStoreError } from '../errors/index.js';
import type { ReleaseReply, ReleaseRequest } from '../store/lock-store.js';
import type { EngineContext } from './engine-context.js';
import type { ClientGrant } from './hold.js';
import type { Grant } from './hold-terms.js';

/** ms from a failed release to the next try. */
const RETRY = 250;
/** ms until then while the store cannot be reached. */
const UNREACHABLE_RETRY = 1_000;

/** A grant whose holders have released some of its permits. */
type PermitGrant = Pick<ClientGrant, 'key' | 'id' | 'units' | 'isHeld'>;

/** Sends releases to the store, repeats failed ones, and finds releases without a reply. */
export class Releases {
  /** Releases without a reply: those of holds by the id of the acquisition, others by themselves. */
  private readonly pending = new TransientMap<string | ReleaseRequest, Promise<ReleaseReply>>();
  /** Grants whose command has failed. One retry says all, since a command says how many permits are left when it is sent. */
  private readonly keeping = new Set<PermitGrant>();
  /** Makes the releases that have failed and are to be sent again, by the id of the acquisition. */
  private readonly failed = new Map<string, () => ReleaseRequest>();
  private isClosing = false;

  constructor(private readonly context: EngineContext) {}

  /**
   * Sends a release. A transient failure is retried until `until`, but the promise rejects with the first failure. `name`: the id
   * of the hold, under which `ofHold` finds its release until the reply.
   */
  send(request: ReleaseRequest, until: number, name: string | ReleaseRequest = request): Promise<ReleaseReply> {
    const { clock, store } = this.context;
    const keepUntil = clock.now() + request.keep;
    const reply = store.release(request);
    this.pending.set(name, reply);
    reply.then(
      () => this.pending.delete(name),
      (error: LockStoreError) => {
        this.pending.delete(name);
        if (!this.retries(error) || clock.now() > until) return;
        const again = (): ReleaseRequest => {
          const keep = Math.max(0, Math.ceil(keepUntil - clock.now()));
          return { ...request, keep, next: undefined };
        };
        this.failed.set(request.id, again);
        const isOfUse = (): boolean => clock.now() < until;
        this.again('release', request.key, error, isOfUse, () => {
          this.failed.delete(request.id);
          this.send(again(), until).catch(() => undefined);
        });
      },
    );
    return reply;
  }

  /** The release of the hold with this id, if it has no reply yet. */
  ofHold(id: string): Promise<ReleaseReply> | undefined {
    return this.pending.get(id);
  }

  /**
   * Releases what an acquisition has in the store, a hold or a place in the queue, in the background. `tombstone`: for how
   * many ms the store refuses the acquisition if its request arrives later. `until`: until when the store may keep it, if
   * that may be longer than two `commandTimeout`s.
   */
  leave(key: string, id: string, tombstone: number, until?: number): void {
    void this.sendInBackground({ key, id, tombstoneFor: tombstone, keep: 0, next: undefined }, until);
  }

  /**
   * Releases in the background what the store has for an acquisition that this client does not know any more: as its holder
   * released it if that has failed, since the key may have to stay taken.
   */
  releaseOrphan(key: string, id: string): Promise<unknown> {
    return this.sendInBackground(this.failed.get(id)?.() ?? { key, id, tombstoneFor: 0, keep: 0, next: undefined });
  }

  /** Sends a release whose reply no caller needs. The promise resolves with the first reply or failure. */
  sendInBackground(request: ReleaseRequest, until = -Infinity): Promise<unknown> {
    const { clock, limits } = this.context;
    return this.send(request, Math.max(until, clock.now() + 2 * limits.commandTimeout)).catch(() => undefined);
  }

  /**
   * Sends how many permits a grant has now. A copy that arrives later releases no more than that. A transient failure is
   * retried while the grant is held, but the promise rejects with the first failure. `keepOf`: for how many ms the released
   * permits stay taken.
   */
  async sendUnits(grant: PermitGrant, keepOf: () => number = () => 0): Promise<number | 'not-held'> {
    const { key, id, units } = grant;
    try {
      return await this.context.store.permits!.keepUnits({ key, id, units, keep: keepOf() });
    } catch (error) {
      if (this.retries(error) && !this.keeping.has(grant)) {
        this.keeping.add(grant);
        const isOfUse = (): boolean => grant.isHeld;
        this.again('release permits of', key, error as LockStoreError, isOfUse, () => {
          this.keeping.delete(grant);
          if (grant.isHeld) this.sendUnits(grant, keepOf).catch(() => undefined);
        });
      }
      throw error;
    }
  }

  /**
   * ms for the tombstone of an acquisition that was first asked for in `epoch` (see `Grant`). After a reconnect a request
   * from before may still run, behind the release.
   */
  tombstoneFor(epoch: Grant['epoch']): number {
    return epoch === this.context.store.epoch ? 0 : 2 * this.context.limits.commandTimeout;
  }

  /** Whether a release that failed is sent again, for as long as its lease may stand. */
  retries(error: unknown): boolean {
    return isLockStoreError(error) && error.transient && !this.isClosing;
  }

  /** Resolves when all releases have their replies, or after `timeout` ms. Failures are not retried from now on. */
  async settled(timeout: number): Promise<void> {
    this.isClosing = true;
    if (this.pending.size === 0) return;
    const { timers, clock } = this.context;
    await settledBy(timers, { at: clock.now() + timeout }, Promise.allSettled(this.pending.values()));
  }

  /** Sends a command again later. While the store cannot be reached, the commands would only pile up. */
  private again(what: string, key: string, error: LockStoreError, isOfUse: () => boolean, send: () => void): void {
    const { clock, timers, logger, store } = this.context;
    logger.debug(`could not ${what} '${key}' in Redis, will try again: ${error.message}`);
    const retry = (): void => {
      if (store.unreachable === undefined || !isOfUse()) send();
      else timers.add(clock.now() + UNREACHABLE_RETRY, retry);
    };
    timers.add(clock.now() + RETRY, retry);
  }
}
