import type { Masters } from './connection.js';
import type { LastingLine } from './lasting-line.js';
import type { Commands, Line, Lines, ServerAddress } from './line.js';

/** A server that executes commands: another one in the same place is another object. */
export interface Server {
  /** `host:port` in a Cluster; otherwise `''`. */
  readonly address: string;
  /** Where it is, unless that is in the options of the client. */
  readonly at: ServerAddress | undefined;
  readonly commands: LastingLine;
}

export interface ServersObserver {
  /**
   * It is known which servers there are, or the connection to one is ready. Some may be others than before. `isMaster`: the
   * connection to a master of a Cluster is ready.
   */
  reached(isMaster?: boolean): void;
  /** No server can be reached now. */
  unreachable(error: Error | undefined): void;
  /** The connection to a master of a Cluster has ended, or could not be made. */
  ended(error: Error | undefined, wasReady: boolean): void;
  /** A master of a Cluster turns out to be replaced, and the new one is known. `served`: as for `ConnectionObserver`. */
  replaced(served: (name: string) => boolean): void;
  /** A reply does not count, so the command is sent again. It may have been executed. */
  unconfirmed(): void;
}

/** The servers of a client, and a connection for commands to each: one server, or the masters of a Cluster. */
export interface Servers {
  readonly isCluster: boolean;
  readonly lines: Lines;
  /** Sends a command to the server of its key. */
  readonly commands: Commands;
  readonly masters: Masters | undefined;
  readonly known: readonly Server[];
  /** Whether commands reach the known servers, as far as they are not down themselves. */
  readonly isKnown: boolean;

  open(): void;
  close(): void;
  /** Checks whether another server has taken the place of one. Resolves when that is known. Never rejects. */
  refresh(): Promise<void>;
  /** The server of a slot, or any if no slot is passed; `undefined` if it is not known or not connected. */
  of(slot: number | undefined): Server | undefined;
  /** Whether another server than this one is known to serve a slot. */
  hasLeft(slot: number | undefined, server: Server): boolean;
  /** Checks the server of a new subscriber connection. Resolves to the name by which its grants name it. */
  identify(line: Line): Promise<string | undefined>;
}

/** Names the master behind Sentinels. */
export interface MasterFinder {
  /** The master, if it is known. */
  readonly master: ServerAddress | undefined;
  /** Called when the master has changed. */
  moved: () => void;
  /** Resolves when everything is known that had been announced by now. Left out if no change is announced. */
  readonly catchUp?: (() => Promise<void>) | undefined;
  /** Asks for the master. @throws Error if there is no answer */
  find(): Promise<ServerAddress>;
  /** The server that it has named is a replica. */
  mistaken?(): void;
  close(): void;
}

/** How a client reaches the nodes of a Cluster. */
export interface ClusterTarget {
  readonly lines: Lines;
  /** Finds the nodes that the user named. */
  readonly named: () => Promise<ServerAddress[]>;
  /** The address at which a node can be reached, given the address that a node has named. */
  readonly resolveNat: (address: ServerAddress) => ServerAddress;
}
