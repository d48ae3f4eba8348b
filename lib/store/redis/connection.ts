import type { ConnectionHealth } from './connection-health.js';
import type { Commands } from './line.js';
import type { ScannedNode } from './key-scan.js';
import type { Subscription } from './subscription.js';

/** How a client uses its connections. */
export interface ConnectionOptions {
  readonly keyPrefix: string;
  readonly clientId: string;
  /** The name in `CLIENT LIST`, unless the user has named the connection. */
  readonly label?: string | undefined;
  /** ms */
  readonly commandTimeout: number;
  /**
   * The channel of a key, if messages about a key do not name a client: they arrive as `keyMessage`. If left out, all
   * messages arrive on the channel of the client.
   */
  readonly keyChannel?: ((key: string) => string) | undefined;
  /** Whether channels of keys are sharded in a Cluster. If left out, they are if the server supports that. */
  readonly isSharded?: (() => boolean) | undefined;
}

/** What a grant names as its node outside a Cluster. */
export const ONE_SERVER = '-';

/** Receives events of the connections. */
export interface ConnectionObserver {
  /**
   * The server has confirmed a subscription. Messages may have been missed before, so the receiver has to ask for them.
   * If `concerns` is passed, only messages about these keys may have been missed.
   */
  subscribed(concerns?: (key: string) => boolean): void;
  /** The connection for commands is ready again. */
  reconnected(): void;
  /**
   * The connection for commands to a node of a Cluster has ended. It may not be needed again, so that `reconnected` may not
   * follow. `served`: whether the node served the key of Redis with this name, or hash tag.
   */
  nodeLost?(served: (name: string) => boolean): void;
  /**
   * A message on the channel of the client. `from`: the node whose grants count. `undefined`: none, since the message may be
   * older than the last reply of the server.
   */
  message(message: string, from: string | undefined): void;
  /** A message on the channel of a key. */
  keyMessage?(channel: string, message: string): void;
  /** The server has confirmed the channel of a key later than `subscribeTo` allowed. */
  keySubscribed?(channel: string): void;
}

/** A client's connections to Redis: one server (with or without Sentinels), or a Cluster. */
export interface Connection {
  readonly commands: Commands;
  /** The address of the server, if there is one and it is connected. */
  readonly address: string | undefined;
  /** Whether the subscription to the client's own channel is confirmed and its connection has not been lost since. */
  readonly listening: boolean;
  /** Whether all subscriptions that are due stand, and none is in doubt. */
  readonly fullySubscribed: boolean;
  /** How many times a connection has been lost. */
  readonly epoch: number;
  /** Whether commands reach Redis. */
  readonly health: ConnectionHealth;
  /** The last error of the subscriptions, while messages cannot be received. */
  readonly subscriptionError: Error | undefined;
  readonly replicas: ReplicaConfirmation;
  /** Left out if no other server could tell whether a master has been replaced. */
  readonly masters?: Masters | undefined;

  /**
   * Starts to connect. Resolves when the client is subscribed to its own channel for the first time. Failed attempts are
   * repeated without a limit.
   * @throws LockConfigError if the server cannot serve the options. LockStoreError if the connection is closed before
   */
  open(): Promise<void>;
  close(): void;

  /** The server, or the known masters of a Cluster. */
  nodes(): ScannedNode[];

  /** Called if the server does not answer or cannot serve: checks whether another server has taken its place. */
  doubt(): void;

  /**
   * Where scripts send messages about a key, as `lua/shared/messages.lua` reads it: the beginning of the clients' channels,
   * and the key. A key contains no line break.
   */
  replyAddress(key: string): string;
  /**
   * The subscription on which the client would receive a grant of this key now; `undefined`: there is none. It stands for at
   * least `patience` ms.
   */
  subscription(key: string, patience: number): Subscription | undefined;
  /**
   * Subscribes to grants of this key, for at least `patience` ms. Resolves to whether that succeeded within `limit` ms.
   * If a failure delays it further, the observer's `subscribed` is called in the end.
   */
  subscribeTo(key: string, patience: number, limit: number): Promise<boolean>;
  /** From now on, a command may use the keys of one slot only: the server has refused several (`CROSSSLOT`). */
  separateSlots(): void;
  /** Splits a list into parts that one command each may process. `nameOf`: names the Redis key of a key. */
  group<T extends { readonly key: string }>(items: readonly T[], nameOf: (key: string) => string): T[][];
}

/** Confirms messages and replies after a silence: the master may have been replaced meanwhile, and not know that yet. */
export interface Masters {
  /** Whether others are asked about a master now. */
  readonly isAsking: boolean;
  /**
   * A master has replied to a command for a key: the one at `address`, or the master that is known now. Resolves to whether
   * that counts; `undefined`: it does.
   */
  confirm(name: string, address?: string): Promise<boolean> | undefined;
}

/** A script that writes an entry again unchanged, by its id, in one key. It replies 0 if there is no such entry. */
export type ConfirmingScript = 'confirm' | 'latchConfirm';

/** Counts the replicas that have the write of a hold or of a latch. */
export interface ReplicaConfirmation {
  /**
   * `script`: `confirm` if left out.
   * @throws LockStoreError if the server refuses or does not answer in time
   */
  confirm(key: string, id: string, min: number, timeout: number, script?: ConfirmingScript): Promise<number>;
}
