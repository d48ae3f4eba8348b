import type { Cluster, Redis } from 'ioredis';
import type { Subscription } from './subscription.js';

/** Who hears of what happens to the connections. */
export interface ConnectionObserver {
  /** The server has confirmed a subscription, for the first time or anew: what was missed meanwhile is to be asked for. */
  subscribed(): void;
  /** The connection for commands is there again. */
  reconnected(): void;
  message(message: string): void;
  /** A message that may be older than what the server has said since: it is to be looked into, and not believed. */
  unorderedMessage(message: string): void;
}

/** The ways of a client to Redis: one server, behind Sentinels or not, or a Cluster. */
export interface Connection {
  readonly commands: Redis | Cluster;
  /** Whether the client's own channel is confirmed, and the connection has stood since. */
  readonly listening: boolean;
  /** Whether all that is to be heard is, as far as that is known. */
  readonly hearsAll: boolean;
  /** How often a connection has been lost. */
  readonly epoch: number;
  /** The last error of a connection that is down. */
  readonly commandError: Error | undefined;
  /** Why no message can be heard, as far as that is known. */
  readonly subscriptionError: Error | undefined;
  /** For how many ms the connection for commands has been down. */
  readonly downFor: number;
  readonly replicas: ReplicaConfirmation;

  /** Begins to connect. What comes of it is told to the observer; failing connections are tried again for ever. */
  open(): void;
  close(): void;

  /** The server does not answer, or can do nothing: finds out whether another one has taken its place. */
  doubt(): void;

  /** What stands before a client's id in the name of the channel on which it hears of a key. */
  channels(key: string): string;
  /** Whether a grant of this key would be heard now; if so, it will be for `patience` ms yet. */
  isSubscribed(key: string, patience: number): boolean;
  /** On which a grant of this key would be heard now; `undefined`: on none, or the server cannot tell. */
  subscription(key: string): Subscription | undefined;
  /**
   * Begins to hear grants of this key, for `patience` ms at least; answers whether they are heard within `limit` ms. If
   * that takes longer since something failed, `subscribed` is told in the end.
   */
  subscribeTo(key: string, patience: number, limit: number): Promise<boolean>;
  /** The parts that one command may speak of, of a list of what belongs to keys. */
  group<T extends { readonly key: string }>(items: readonly T[]): T[][];
}

/** A script that writes something once more as it is: what stands under an id in one key. Answers 0 if there is no such thing. */
export type ConfirmingScript = 'confirm' | 'latchConfirm';

/** Learns how many replicas have what was written of a hold, or of a latch. */
export interface ReplicaConfirmation {
  /**
   * `script`: by default that of holds.
   * @throws LockStoreError when the server refuses or does not answer in time
   */
  confirm(key: string, id: string, min: number, timeout: number, script?: ConfirmingScript): Promise<number>;
}
