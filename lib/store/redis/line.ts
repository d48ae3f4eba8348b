import type { Linked } from '../../common/linked-list.js';
import type { ScriptCall } from './script-call.js';

/** A command on its way. It receives its answer itself: a promise for each part that it passes would cost more. */
interface Sent extends Linked<Command> {
  answered(reply: unknown): void;
  failed(error: Error): void;
}

/** A script on its way. If the server does not know it by its hash, it is sent again by its text. */
export interface SentScript extends ScriptCall, Sent {
  command: ScriptCall['command'];
  script: string;
  /** The address of the master of its slot when it was sent last, in a Cluster. Another node may have executed it for that master. */
  master: string | undefined;
}

interface SentWords extends Sent {
  readonly words: readonly [command: string, ...args: Array<string | number>];
}

export type Command = SentScript | SentWords;

/** Sends commands to the server of a key. */
export interface Commands {
  /** The script receives the answer. */
  run(script: SentScript): void;
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
  /** The reply to a script, or its failure. */
  answered?(script: SentScript, reply: unknown): void;
  failed?(script: SentScript, error: Error): void;
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
export interface Line extends Pick<Commands, 'send'> {
  /** Sends a script. The reply is an event: a promise would cost as much as the rest of the command. */
  run(script: SentScript): void;
  readonly state: 'opening' | 'ready' | 'ended';
  /** Resolves when the server accepts commands. Rejects with the reason if the line ends before. */
  readonly opened: Promise<void>;
  /** The address of the server, as far as it is known. */
  readonly peer: string;
  /** What the line waits for while it is opened, if that is known. */
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

/**
 * Opens a line for one question. `giveUp` ends it before the answer.
 * @throws Error with the reason for which the line has ended, or with what it waited for
 */
export function askOnce<T>(
  lines: Lines,
  server: ServerAddress,
  giveUp: AbortSignal,
  ask: (line: Line) => Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    giveUp.throwIfAborted();
    const line = lines.open({ ended: (error) => error && reject(error) }, server);
    const leave = (): void => {
      reject(line.unanswered ?? new Error(`${line.peer} does not answer`));
      line.close(true);
    };
    giveUp.addEventListener('abort', leave, { once: true });
    const over = (): void => {
      giveUp.removeEventListener('abort', leave);
      line.close();
    };
    void line.opened
      .then(() => ask(line))
      .then(resolve, reject)
      .finally(over);
  });
}

export const addressOf = ({ host, port }: ServerAddress): string => `${host}:${port}`;

/** Each address once. */
export const byAddress = (list: readonly ServerAddress[]): Map<string, ServerAddress> =>
  new Map(list.map((at) => [addressOf(at), at]));

export const isSame = (one: ServerAddress, other: ServerAddress): boolean =>
  one.host === other.host && one.port === other.port;
