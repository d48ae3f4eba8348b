import {
  createEngineContext,
  type EngineContext,
  type EngineContextOptions,
} from '../../../lib/engine/engine-context.js';
import { ClientGrant, type Grant, type HoldTerms, type Hold } from '../../../lib/engine/hold.js';
import { LockEngine } from '../../../lib/engine/lock-engine.js';
import { LockStoreError, type LockLostError } from '../../../lib/errors/index.js';
import type {
  AcquireAllReply,
  AcquireReply,
  AcquireRequest,
  ContendedReply,
  ForceReleaseReply,
  LockStore,
  LockStoreListener,
  OfferReply,
  OfferRequest,
  PushedGrant,
  ReleaseReply,
  ReleaseRequest,
  RenewReply,
  RenewRequest,
  ReplicateRequest,
  StoredLock,
} from '../../../lib/store/lock-store.js';
import { deferred, type Deferred } from '../../../lab/testbed/wait/deferred.js';
import { FakeClock, settled } from '../../../lab/testbed/clocks/fake-clock.js';

export { deferred, FakeClock, settled, type Deferred };

/** Something that was asked of the store, and its reply in the hands of the test. */
export interface Asked<Request, Reply> {
  readonly request: Request;
  readonly reply: Deferred<Reply>;
}

/** A store whose replies, and their moments, the test decides. */
export class FakeStore implements LockStore {
  readonly clientId = 'me';
  unreachable: LockStoreError | undefined;
  listening = true;
  epoch = 0;
  listener!: LockStoreListener;
  closed = false;
  readonly latches = undefined;
  /** The requests of acquisitions and renewals, in the order in which they were asked. */
  readonly order: Array<'acquire' | 'renew'> = [];
  readonly acquires: Array<Asked<AcquireRequest, AcquireReply>> = [];
  readonly releases: Array<Asked<ReleaseRequest, ReleaseReply>> = [];
  readonly renewals: Array<Asked<readonly RenewRequest[], RenewReply[]>> = [];
  readonly offers: Array<Asked<OfferRequest, OfferReply>> = [];

  start = async (): Promise<void> => {};
  close = async (): Promise<void> => void (this.closed = true);
  listen = (listener: LockStoreListener): void => void (this.listener = listener);
  acquireAll = async (): Promise<AcquireAllReply | undefined> => undefined;
  replicate = async ({ min }: ReplicateRequest): Promise<number> => min;
  setLimit = async (): Promise<void> => {};
  forceRelease = async (): Promise<ForceReleaseReply> => ({ holds: 0, told: 0 });
  inspect = async (): Promise<StoredLock> => ({ lastToken: 0, holds: [], waiters: [], limit: undefined });

  acquire(request: AcquireRequest): Promise<AcquireReply> {
    this.order.push('acquire');
    return note(this.acquires, request);
  }

  release(request: ReleaseRequest): Promise<ReleaseReply> {
    return note(this.releases, request);
  }

  renew(requests: readonly RenewRequest[]): Promise<RenewReply[]> {
    this.order.push('renew');
    return note(this.renewals, requests);
  }

  offer(request: OfferRequest): Promise<OfferReply> {
    return note(this.offers, request);
  }
}

function note<Request, Reply>(list: Array<Asked<Request, Reply>>, request: Request): Promise<Reply> {
  const reply = deferred<Reply>();
  // Not every reply is waited for.
  reply.catch(() => undefined);
  list.push({ request, reply });
  return reply;
}

/** A failure that passes, such as a lost connection. */
export const passing = (): LockStoreError => new LockStoreError('the connection is lost', { transient: true });
/** A failure that stays, such as NOPERM. */
export const lasting = (): LockStoreError => new LockStoreError('no permission');

/** Replies to a release: the hold was there, or not. */
export const RELEASED: ReleaseReply = { released: true, next: undefined };
export const NOT_HELD: ReleaseReply = { released: false, next: undefined };

/** Replies to an acquire. The server's clock, `time`, has nothing to do with ours. */
export const held = (token: number, lease: number, time = 50_000, turns = 1): AcquireReply => ({
  outcome: 'held',
  time,
  token,
  lease,
  batchSize: turns,
});
export const queued = (details: Partial<ContendedReply> = {}): ContendedReply => ({
  outcome: 'queued',
  time: 50_000,
  retryAfter: 1_000,
  lastToken: 10,
  holders: [],
  ...details,
});
export const busy = (): ContendedReply => queued({ outcome: 'busy' });

/** What a caller of a test asks for. Default: the key 'a' with `TERMS`. */
export type Wanted = Partial<HoldTerms> & { readonly key?: string };

export const TERMS: HoldTerms = {
  mode: { kind: 'exclusive' },
  owner: undefined,
  pattern: undefined,
  fair: false,
  replicas: undefined,
  lease: 30_000,
  renews: true,
  maxRenewTimes: 0,
  holdAtLeast: 0,
};

/** A request to a store. */
export const REQUEST: AcquireRequest = {
  ...{ key: 'a', id: 'me:1', mode: { kind: 'exclusive' }, owner: undefined, lease: 30_000, waits: true, period: 1_000 },
  ...{ patience: 2_000, grantTimeout: 3_000, batchSize: 1, uncontendedBatchSize: 1, fair: false },
};

export const SILENT = { debug() {}, log() {}, warn() {}, error() {} };

/** A context with limits that suit most tests. */
export function contextOf(
  store: FakeStore,
  clock: FakeClock,
  {
    limits,
    ...given
  }: Partial<Omit<EngineContextOptions, 'limits'>> & { limits?: Partial<EngineContext['limits']> } = {},
): EngineContext {
  return createEngineContext({
    ...{ store, clock, random: () => 0, logger: SILENT, sink: { observed: false, next() {} } },
    ...given,
    limits: { commandTimeout: 5_000, grantTimeout: 3_000, batch: { size: 16, time: 50 }, ...limits },
  });
}

/** An engine on a store in the hands of the test, and the calls that tests make. */
export function engineBench<Store extends FakeStore = FakeStore>({
  clock = new FakeClock(),
  store = new FakeStore() as Store,
  limits = {},
  onEvent,
}: {
  clock?: FakeClock;
  store?: Store;
  limits?: Partial<EngineContext['limits']>;
  onEvent?: (type: string) => void;
} = {}) {
  const warnings: string[] = [];
  const events: string[] = [];
  const logger = { ...SILENT, warn: (text: string) => void warnings.push(text) };
  const next = ({ type }: { type: string }): void => {
    events.push(type);
    onEvent?.(type);
  };
  const context = contextOf(store, clock, { logger, sink: { observed: true, next }, limits });
  const engine = new LockEngine(context);
  const acquire = ({ key = 'a', ...terms }: Wanted = {}, waitTimeout = Infinity, signal?: AbortSignal) => {
    const acquisition = engine.acquire(key, { ...TERMS, ...terms }, { waitTimeout, signal });
    acquisition.catch(() => undefined);
    return acquisition;
  };
  /** A hold that was granted as soon as it was asked for, for `turns` callers. */
  const take = async (terms?: Wanted, turns = 1): Promise<Hold> => {
    const acquisition = acquire(terms);
    store.acquires.at(-1)!.reply.resolve(held(5, 30_000, 50_000, turns));
    return acquisition;
  };
  /** Answers a request, by default the last one. */
  const answer = async (reply: AcquireReply, i = store.acquires.length - 1): Promise<void> => {
    store.acquires[i]!.reply.resolve(reply);
    await settled();
  };
  /** Reports a grant of the first request. */
  const push = (details: Partial<PushedGrant> = {}): void =>
    store.listener.granted({
      ...{ key: 'a', id: 'me:1', token: 11, lease: 3_000, time: 50_500, batchSize: 1 },
      ...details,
    });
  /** The ids of the releases so far. */
  const left = () => store.releases.map(({ request }) => request.id);
  return { clock, store, context, engine, acquire, take, answer, push, left, warnings, events };
}

/** Observes the losses of holds. */
export class Observer {
  readonly told: string[] = [];
  readonly lost = (hold: Hold, error: LockLostError): void => {
    this.told.push(`lost ${hold.key}: ${error.message}`);
  };
}

export function holdOf(
  clock: FakeClock,
  {
    terms: { key = 'a', ...terms } = {},
    grant = {},
    observer,
    due,
  }: { terms?: Wanted; grant?: Partial<Grant>; observer?: Observer; due?: (hold: Hold) => void } = {},
): Hold {
  const full = { ...TERMS, ...terms };
  const granted = {
    ...{ id: 'me:1', token: 11, lease: full.lease, longest: full.lease, batchSize: 1 },
    ...{ from: clock.now(), epoch: 0, restsOn: 0, ...grant },
  };
  const context = { ...contextOf(new FakeStore(), clock), ...observer, due };
  return new ClientGrant(context, { key, mode: full.mode }, granted).add(full, granted.from);
}
