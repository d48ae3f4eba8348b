/** How a client uses its connections. */
export interface ConnectionOptions {
  readonly keyPrefix: string;
  readonly clientId: string;
  /** The name in `CLIENT LIST`, unless the user has named the connection. */
  readonly label?: string | undefined;
  /** ms */
  readonly commandTimeout: number;
  /** Whether channels of keys are sharded in a Cluster. If left out, they are if the server supports that. */
  readonly isSharded?: (() => boolean) | undefined;
  /** The commands that `start` looks for, if they are not those of the scripts of this library's own protocol. */
  readonly required?: readonly string[];
}

/** What a grant names as its node outside a Cluster. */
export const ONE_SERVER = '-';

/** Receives events of the connections. */
export interface ConnectionObserver {
  /**
   * The connection for commands is ready again, or the server has confirmed a subscription. Messages may have been missed
   * before, so the receiver has to ask for them. If `channels` are passed, only their messages may have been missed.
   */
  restored(channels?: ReadonlySet<string>): void;
  /**
   * Another node of a Cluster has taken the place of one whose connection stands, so that `restored` does not follow.
   * `served`: whether that node served the key of Redis with this name, or hash tag.
   */
  nodeReplaced?(served: (name: string) => boolean): void;
  /**
   * A message on the channel of the client, or on any if there is no `keyMessage`. `from`: the node whose grants count;
   * `undefined`: none, since the message may be older than the last reply of the server.
   */
  message(message: string, from: string | undefined): void;
  /** A message on the channel of a key. */
  keyMessage?(channel: string, message: string): void;
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
