import type { LockStoreError } from '../../errors/index.js';
import type { AcquireRequest, LockStoreListener } from '../lock-store.js';
import type { ConnectionObserver } from './connection.js';
import type { Connection } from './redis-connection.js';

/** The reply to a waiter may be delayed by this many ms, until the client can receive its grant. */
export const LONGEST_HEARING = 250;

/** What the stores on the connections to a Redis have in common, whatever their protocol is. */
export abstract class ConnectedStore implements ConnectionObserver {
  protected listener: LockStoreListener | undefined;
  // Private, also towards the engine, because it knows the password: printing a lock must not reveal it.
  readonly #connection: Connection;

  constructor(connect: (observer: ConnectionObserver) => Connection) {
    this.#connection = connect(this);
  }

  abstract message(text: string, from: string | undefined): void;
  abstract restored(channels?: ReadonlySet<string>): void;
  /** The Redis key, or the hash tag, of a lock. */
  protected abstract nameOf(key: string): string;

  get isPartitioned(): boolean {
    return this.connection.isCluster;
  }

  get listening(): boolean {
    return this.connection.subscriptions.listening;
  }

  get fullySubscribed(): boolean {
    return this.connection.subscriptions.fullySubscribed;
  }

  get epoch(): number {
    return this.#connection.epoch;
  }

  get unreachable(): LockStoreError | undefined {
    return this.#connection.health.unreachable;
  }

  get outage(): LockStoreError | undefined {
    return this.connection.health.outage;
  }

  listen(listener: LockStoreListener): void {
    this.listener = listener;
  }

  /** @throws LockStoreError if the store is closed or `commandTimeout` is over; it continues to connect */
  start(): Promise<void> {
    return this.connection.start();
  }

  async close(): Promise<void> {
    this.connection.close();
  }

  nodeReplaced(served: (name: string) => boolean): void {
    this.listener?.doubted?.((key) => served(this.nameOf(key)));
  }

  /**
   * Subscribes to a channel for a request. The reply to a waiter is delayed so long, and a lease counts from the request, so
   * this may take only a part of it. If the subscription stands later, the request is repeated at once.
   */
  protected async subscribe(channel: string | undefined, request: AcquireRequest): Promise<boolean> {
    const { subscriptions } = this.connection;
    const { id, patience, period, lease } = request;
    if (await subscriptions.subscribeTo(channel, patience, Math.min(LONGEST_HEARING, lease / 4))) return true;
    const later = subscriptions.subscribeTo(channel, patience, period);
    void later.then((stands) => stands && this.listener?.retryAfter(id, 0));
    return false;
  }

  protected get connection(): Connection {
    return this.#connection;
  }
}
