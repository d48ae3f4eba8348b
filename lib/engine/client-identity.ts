import type { Clock } from '../common/clock.js';
import { messageOf } from '../common/describe.js';
import type { LockLogger } from '../common/logger.js';
import type { TimerQueue } from '../common/timer-queue.js';
import { sharerId, siteSuffix } from '../store/acquisition-id.js';
import type { CallSite, ClientRecord } from '../store/client-records.js';
import type { LockStore } from '../store/lock-store.js';
import type { HoldTerms } from './hold-terms.js';

/** At most so many call sites get a number. Patterns that a caller makes anew for each call would fill the memory. */
const MAX_SITES = 500;
/** Longer patterns are cut off in the record. */
const LONGEST_TEXT = 200;
/** The record outlives the last hold of the client by so many ms. */
const SPARE = 300_000;
/** A record is written anew so many ms before it would be too short: servers' clocks run at other speeds. */
const MARGIN = 60_000;
/** A record that holds need is written anew after so many ms: Redis may have evicted it, or an operator deleted it. */
const REFRESH = 60_000;
/** A record that could not be written is written again after so many ms. */
const RETRY = 5_000;

/** What a call site is made from. */
export type SiteTerms = Omit<CallSite, 'renewedLease'> & Partial<Pick<HoldTerms, 'lease' | 'renews' | 'maxRenewTimes'>>;

/**
 * The ids of a client and its acquisitions, and the record by which people recognize them: the label and the call sites.
 * The record is written in the background and never delays an acquisition. It is written anew when a hold would outlive it,
 * so an idle client writes nothing.
 */
export class ClientIdentity {
  private lastId = 0;
  private readonly sites: CallSite[] = [];
  private readonly suffixes = new Map<string, string>();
  /** The call site of the last acquisition. Mostly the next one has the same. */
  private last: CallSite & { readonly suffix: string } = { pattern: undefined, method: undefined, suffix: '' };
  /** Until when the store keeps the record that it has. */
  private keptUntil = -Infinity;
  /** From then on, the next hold or renewal writes it anew. */
  private freshUntil = Infinity;
  /** Until when the last hold of this client may exist. */
  private neededUntil = -Infinity;
  private isWriting = false;
  private retryAt = -Infinity;

  constructor(
    private readonly store: LockStore,
    private readonly clock: Clock,
    private readonly timers: TimerQueue,
    private readonly logger: LockLogger,
    readonly label: string,
  ) {}

  /** The id of the client. */
  get id(): string {
    return this.store.clientId;
  }

  /** Makes an id that no other acquisition has. It names the call site, if there is one. */
  nextId(site?: SiteTerms): string {
    const id = `${this.store.clientId}:${(this.lastId += 1)}`;
    return site === undefined ? id : id + this.suffixOf(site);
  }

  /** The id of a hold of this client that shares the hold `id` of the store with others. */
  sharerId(id: string, sharer: number, site: SiteTerms): string {
    return sharerId(id, sharer, this.suffixOf(site));
  }

  /** What this client has registered under a number. */
  site(number: number): CallSite | undefined {
    return this.sites[number];
  }

  /** Makes sure that the record exists for `lease` ms from `now` on. Cheap, since every hold calls it. */
  cover(now: number, lease: number): void {
    if (now + lease > this.keptUntil || now > this.freshUntil) this.keep(now, now + lease);
  }

  /** The store may have lost the record. */
  restored(): void {
    this.keptUntil = -Infinity;
    this.retryAt = -Infinity;
    const now = this.clock.now();
    if (this.neededUntil > now) this.keep(now, this.neededUntil);
  }

  private suffixOf(terms: SiteTerms): string {
    const { last } = this;
    const { pattern, method } = terms;
    const renewedLease = terms.renews === true && terms.maxRenewTimes === 0 ? terms.lease : undefined;
    if (last.pattern === pattern && last.method === method && last.renewedLease === renewedLease) return last.suffix;
    const site = { pattern, method, renewedLease };
    const name = [renewedLease, method, pattern].join('\n');
    const suffix = this.suffixes.get(name) ?? this.register(name, site);
    this.last = { ...site, suffix };
    return suffix;
  }

  private register(name: string, { pattern, method, renewedLease }: CallSite): string {
    if ((pattern === undefined && method === undefined) || this.sites.length >= MAX_SITES) return '';
    const [shortPattern, shortMethod] = [pattern, method].map((text) => text?.slice(0, LONGEST_TEXT));
    const site = { pattern: shortPattern, method: shortMethod, renewedLease };
    const suffix = siteSuffix(this.sites.push(site) - 1);
    this.suffixes.set(name, suffix);
    this.keptUntil = -Infinity;
    return suffix;
  }

  private keep(now: number, until: number): void {
    this.neededUntil = Math.max(this.neededUntil, until);
    if (this.isWriting || now < this.retryAt) return;
    const { clients } = this.store;
    if (clients === undefined) {
      this.keptUntil = Infinity;
      return;
    }
    this.isWriting = true;
    // Behind the callers of this turn of the event loop.
    this.timers.add(now, () => void this.write(clients));
  }

  private async write(clients: NonNullable<LockStore['clients']>): Promise<void> {
    const sent = this.clock.now();
    const record: ClientRecord = { label: this.label, sites: [...this.sites] };
    const lifetime = 2 * Math.max(0, this.neededUntil - sent) + SPARE;
    try {
      await clients.write(record, lifetime);
      if (record.sites.length === this.sites.length) this.keptUntil = sent + lifetime * 0.99 - MARGIN;
      this.freshUntil = sent + REFRESH;
      this.retryAt = -Infinity;
    } catch (error) {
      this.retryAt = this.clock.now() + RETRY;
      this.logger.debug(`could not write the label of this client, will try again: ${messageOf(error)}`);
    }
    this.isWriting = false;
    const now = this.clock.now();
    // A longer lease or another call site has come meanwhile.
    if (this.neededUntil > Math.max(now, this.keptUntil)) this.keep(now, this.neededUntil);
  }
}
