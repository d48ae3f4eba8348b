import { strict as assert } from 'node:assert';
import { isLockStoreError } from '../../errors/index.js';
import type { LockService } from '../../service/lock.service.js';
import type { AcquireRequest, LockStore, PushedGrant } from '../../store/lock-store.js';
import type { ContractClientOptions, LockStoreHarness, StoreTruth } from './harness.js';

/** How many ms pass between two checks of a condition. */
const STEP = 5;
/** The limit in ms for something that should happen at once, on a busy machine. */
export const AT_ONCE = 1_000;
/** The limit in ms for a condition to become true. */
export const PATIENCE = 10_000;
/** Options with which waiters retry so late that only a message can serve them within `PATIENCE`. */
export const LATE_RETRIES = { renewedLease: '60s', grantTimeout: '20s' } as const;

let lastKey = 0;

/** The clients, stores and keys of one running case, and its waits. */
export class Stage {
  private readonly clients: LockService[] = [];
  private readonly stores: LockStore[] = [];
  private readonly keys: string[] = [];

  constructor(private readonly harness: LockStoreHarness) {}

  /** Returns a key that no other case uses. At the end, nothing of it may be left. */
  key(name = 'k'): string {
    lastKey += 1;
    const key = `contract-${lastKey}:${name}`;
    this.keys.push(key);
    return key;
  }

  async client(options: ContractClientOptions = {}): Promise<LockService> {
    const client = await this.harness.client({ shutdownTimeout: 0, ...options });
    this.clients.push(client);
    return client;
  }

  async clientList(count: number, options?: ContractClientOptions): Promise<LockService[]> {
    const made: LockService[] = [];
    for (let i = 0; i < count; i++) made.push(await this.client(options));
    return made;
  }

  async store(): Promise<StagedStore> {
    const store = await this.harness.store();
    this.stores.push(store);
    return new StagedStore(store);
  }

  /** How long a crashed waiter may block the others. */
  get absenceNoticedAfter(): number {
    return this.harness.absenceNoticedAfter ?? 0;
  }

  now(): number {
    return this.harness.now();
  }

  sleep(ms: number): Promise<void> {
    return this.harness.sleep(ms);
  }

  truth(key: string): Promise<StoreTruth> {
    return this.harness.truth(key);
  }

  /** The ids of the holds of a key, in the backend. */
  async holders(key: string): Promise<string[]> {
    return (await this.truth(key)).holds.map(({ id }) => id).sort();
  }

  /**
   * Awaits a promise while time passes. A function is called again while the store has not answered it: a single try waits
   * for a short time only, and a busy machine may take longer.
   */
  async outcome<T>(promise: Promise<T> | (() => Promise<T>)): Promise<T> {
    if (typeof promise === 'function') return this.answered(promise);
    let pending = true;
    const settle = (): void => void (pending = false);
    promise.then(settle, settle);
    await Promise.resolve();
    const deadline = this.now() + 3 * PATIENCE;
    while (pending) {
      assert.ok(this.now() < deadline, 'a promise that a case awaits did not settle');
      await this.sleep(STEP);
    }
    return promise;
  }

  private async answered<T>(call: () => Promise<T>): Promise<T> {
    const deadline = this.now() + PATIENCE;
    for (;;) {
      try {
        return await this.outcome(call());
      } catch (error) {
        if (!isLockStoreError(error) || !error.transient || this.now() > deadline) throw error;
      }
    }
  }

  /** The code of the error with which a promise rejects, or the error as text if it has no code. */
  async refusal(promise: Promise<unknown>): Promise<string> {
    try {
      await this.outcome(promise);
    } catch (error) {
      return (error as { code?: string }).code ?? String(error);
    }
    return assert.fail('the call did not fail');
  }

  /** Waits until a condition is true. */
  async until(what: string, look: () => boolean | Promise<boolean>, patience = PATIENCE): Promise<void> {
    const deadline = this.now() + patience;
    while (!(await look())) {
      assert.ok(this.now() < deadline, `${what}: not within ${patience} ms`);
      await this.sleep(STEP);
    }
  }

  untilWaiting(key: string, count: number): Promise<void> {
    return this.until(`${count} in the queue`, async () => (await this.truth(key)).waiting.length === count);
  }

  /** Fails if anything is left of a key after a short time: some releases may still be under way. */
  async nothingIsLeft(): Promise<void> {
    for (const key of this.keys) {
      await this.until(`the end of all holds and tickets of '${key}'`, async () => {
        const { holds, waiting } = await this.truth(key);
        return holds.length === 0 && waiting.length === 0;
      });
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.clients.map((client) => this.outcome(client.close())));
    await Promise.all(this.stores.map((store) => store.close()));
  }
}

/** A store that a case calls directly. */
export class StagedStore {
  readonly revoked: string[] = [];
  /** The callers of forced releases, in the order of the messages. */
  readonly revokers: Array<string | undefined> = [];
  readonly yields: string[] = [];
  private readonly grants: PushedGrant[] = [];
  private readonly toAsk = new Set<string>();
  private lastId = 0;

  constructor(readonly port: LockStore) {
    port.listen({
      granted: (grant) => this.grants.push(grant),
      retryAfter: (id) => this.toAsk.add(id),
      yield: (id) => this.yields.push(id),
      revoked: (id, _token, by) => {
        this.revoked.push(id);
        this.revokers.push(by);
      },
      opened: () => undefined,
      restored: () => undefined,
    });
  }

  request(key: string, details: Partial<AcquireRequest> = {}): AcquireRequest {
    this.lastId += 1;
    return {
      key,
      id: `${this.port.clientId}:${this.lastId}`,
      mode: { kind: 'exclusive' },
      owner: undefined,
      lease: 30_000,
      waits: true,
      period: 10_000,
      patience: 25_000,
      grantTimeout: 3_000,
      batchSize: 1,
      uncontendedBatchSize: 1,
      fair: false,
      ...details,
    };
  }

  /** Whether a waiter has its grant: from a message, or from the retry that a message requested. */
  async isGranted(request: AcquireRequest): Promise<boolean> {
    if (this.grants.some(({ id }) => id === request.id)) return true;
    return this.toAsk.delete(request.id) && (await this.port.acquire(request)).outcome === 'held';
  }

  /** The pushed grant of a waiter. */
  pushedGrant({ id }: AcquireRequest): PushedGrant | undefined {
    return this.grants.find((grant) => grant.id === id);
  }

  /** Whether the store has asked a waiter to retry. */
  isToAsk({ id }: AcquireRequest): boolean {
    return this.toAsk.has(id);
  }

  async release(key: string, id: string, remember = 0): Promise<boolean> {
    return (await this.port.release({ key, id, tombstoneFor: remember, keep: 0, next: undefined })).released;
  }
}

/** Cases by name. A name states the behaviour that the case proves. */
export type CaseList = Readonly<Record<string, (stage: Stage) => Promise<void>>>;
