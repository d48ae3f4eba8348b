import type { ScriptCall } from './script-call.js';

/** Sends commands to the server of a key. */
export interface Commands {
  /** `sentTo`: called with the address of each server to which the call is sent, if there are several. */
  run(call: ScriptCall, sentTo?: (address: string) => void): Promise<unknown>;
  send(command: string, ...args: ReadonlyArray<string | number>): Promise<unknown>;
}

/** Where a server is. */
export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

/** Receives the events of a line. */
export interface LineObserver {
  /** The socket is connected. The server has to answer now. */
  connected?(): void;
  message?(channel: string, message: string, isSharded: boolean): void;
  /** Slots have moved, so the server has ended the subscriptions to these channels. */
  departed?(channels: readonly string[]): void;
  /** The line has ended, unless `close` was called. No event follows. */
  ended?(error: Error | undefined): void;
}

/**
 * One connection to one server, over the client of the application or over ioredis. It ends with its first failure and
 * never connects again, so that a lost reply means the same with every client: the line has ended.
 *
 * A command that fails while the line is `ready` was refused by the server; the error is called `ReplyError`.
 */
export interface Line extends Commands {
  readonly state: 'opening' | 'ready' | 'ended';
  /** Resolves when the server accepts commands. Rejects if the line ends before. */
  readonly opened: Promise<void>;
  /** The address of the server, as far as it is known. */
  readonly peer: string;
  /** What the line waits for, if it has reached the server and the server does not answer. */
  readonly unanswered: Error | undefined;
  /** May never settle if the line ends before the reply. */
  subscribe(channel: string): Promise<void>;
  /** Subscribes to a channel in a slot that this server serves. */
  subscribeInSlot(channel: string): Promise<void>;
  unsubscribe(channel: string, isInSlot: boolean): void;
  /** Ends the line. `isBroken`: drops what is still to be written. */
  close(isBroken?: boolean): void;
}

/** Opens lines with the options of one client. */
export interface Lines {
  /** After how many ms without a reply a line counts as dead. */
  readonly silence: number;
  /** `address`: the server, unless it is the one in the options. */
  open(observer: LineObserver, address?: ServerAddress): Line;
}

/** Opens a line for one question. `giveUp` ends it before the answer. */
export async function askOnce<T>(
  lines: Lines,
  server: ServerAddress,
  giveUp: AbortSignal,
  ask: (line: Line) => Promise<T>,
): Promise<T> {
  giveUp.throwIfAborted();
  const line = lines.open({}, server);
  const leave = (): void => line.close(true);
  giveUp.addEventListener('abort', leave, { once: true });
  try {
    await line.opened;
    return await ask(line);
  } finally {
    giveUp.removeEventListener('abort', leave);
    line.close();
  }
}

export const addressOf = ({ host, port }: ServerAddress): string => `${host}:${port}`;

/** Each address once. */
export const byAddress = (list: readonly ServerAddress[]): Map<string, ServerAddress> =>
  new Map(list.map((at) => [addressOf(at), at]));

export const isSame = (one: ServerAddress, other: ServerAddress): boolean =>
  one.host === other.host && one.port === other.port;
