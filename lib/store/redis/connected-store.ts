import type { LockStoreError } from '../../errors/index.js';
import type { AcquireRequest, LockStoreListener } from '../lock-store.js';
import type { ConnectionObserver } from './connection.js';
import type { Connection } from './redis-connection.js';
import type { ScriptRunner } from './script-runner.js';

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
  /** The Redis key, or the hash tag, of a lock. */
  protected abstract nameOf(key: string): string;

  get isPartitioned(): boolean {
    return this.connection.isCluster;
  }

  get listening(): boolean {
    return this.connection.listening;
  }

  get fullySubscribed(): boolean {
    return this.connection.fullySubscribed;
  }

  get epoch(): number {
    return this.connection.epoch;
  }

  get unreachable(): LockStoreError | undefined {
    return this.connection.health.unreachable;
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

  restored(concerns?: (key: string) => boolean): void {
    this.listener?.restored(concerns);
  }

  nodeLost(served: (name: string) => boolean): void {
    this.listener?.doubted?.((key) => served(this.nameOf(key)));
  }

  /**
   * Subscribes to the channel of a key, or of that name. The reply to a waiter is delayed so long, and a lease counts from the
   * request, so this may take only a part of it.
   */
  protected subscribe(name: string, { patience, lease }: Pick<AcquireRequest, 'patience' | 'lease'>): Promise<boolean> {
    return this.connection.subscribeTo(name, patience, Math.min(LONGEST_HEARING, lease / 4));
  }

  protected get connection(): Connection {
    return this.#connection;
  }

  protected get runner(): ScriptRunner {
    return this.#connection.scripts;
  }
}
