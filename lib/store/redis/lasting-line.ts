import { LinkedList } from '../../common/linked-list.js';
import { outside } from '../../common/async-context.js';
import { clearReadingTimer, setReadingTimer, type ReadingTimer } from '../../common/reading-timer.js';
import { retryDelay } from './connection-options.js';
import type { Command, Commands, Line, Lines, LineObserver, ServerAddress } from './line.js';
import { refusesWrites } from './store-failure.js';

/** Receives the events of the lines, one after the other. */
export interface LastingLineObserver extends Pick<LineObserver, 'message'> {
  ready?(line: Line): void;
  /** A line that was ready has ended, or an attempt has failed. */
  ended?(error: Error | undefined, wasReady: boolean): void;
}

export interface LastingLineOptions {
  /**
   * Whether commands are sent again after a lost reply. A server that has become a replica is left then. Otherwise commands fail
   * with their line, even while it is being opened.
   */
  readonly resends?: boolean;
  /** Finds the server, each time. If left out, it is the one in the options of the client. */
  readonly find?: () => Promise<ServerAddress>;
  /** Checks a line before it is used. If it rejects, another one is opened. */
  readonly admit?: (line: Line) => Promise<void>;
}

/** A connection to one server that is made again whenever it ends: one line after the other. */
export class LastingLine implements Commands {
  line: Line | undefined;
  /** The server of the line, if it was looked for. */
  address: ServerAddress | undefined;

  private isBegun = false;
  private isClosed = false;
  private isOpen = false;
  private attempts = 0;
  /**
   * In the order in which they were given. They are sent in this order, also for the second time. No Set: it would let the
   * garbage collector keep commands that were answered.
   */
  private readonly unanswered = new LinkedList<Command>();
  private silence: ReadingTimer | undefined;
  /** Since when the server has owed an answer. */
  private quietSince = 0;

  constructor(
    private readonly lines: Lines,
    private readonly observer: LastingLineObserver,
    private readonly options: LastingLineOptions = {},
  ) {}

  get isReady(): boolean {
    return this.isOpen && this.line?.state === 'ready';
  }

  /** For how many ms the server has owed an answer. */
  get owing(): number {
    return !this.isOpen || this.unanswered.size === 0 ? 0 : performance.now() - this.quietSince;
  }

  /** Connects. The first command does so, too: a service can be used before it is started. */
  open(): void {
    if (this.isBegun || this.isClosed) return;
    this.isBegun = true;
    outside(() => void this.connect());
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.isOpen = false;
    clearReadingTimer(this.silence);
    this.line?.close();
    this.fail(new Error('Connection is closed.'));
  }

  /** Replaces the line. */
  leave(error?: Error): void {
    const { line } = this;
    if (line === undefined || line.state === 'ended') return;
    line.close(true);
    this.over(line, error);
  }

  send(command: string, ...args: Array<string | number>): Promise<unknown> {
    const words = [command, ...args] as const;
    return new Promise((answered, failed) =>
      this.run({ words, answered, failed, list: undefined, before: undefined, behind: undefined }),
    );
  }

  run(command: Command): void {
    if (this.isClosed) return queueMicrotask(() => command.failed(new Error('Connection is closed.')));
    this.unanswered.append(command);
    if (!this.isOpen) return this.open();
    if (this.unanswered.size === 1) this.quietSince = performance.now();
    const line = this.line!;
    if ('words' in command) {
      line.send(...command.words).then(
        (reply) => this.answered(line, command, reply),
        (error: Error) => this.refused(line, command, error),
      );
    } else line.run(command);
    this.watchForSilence(this.lines.silence);
  }

  /** The commands without a reply fail. */
  private fail(error: Error): void {
    for (const command of this.unanswered.takeAll()) command.failed(error);
  }

  private answered(line: Line, command: Command, reply: unknown): void {
    if (this.isAnswered(command, line)) command.answered(reply);
  }

  private refused(line: Line, command: Command, error: Error): void {
    // Otherwise the line has ended, and the command is sent on the next one.
    if (!this.isAnswered(command, line)) return;
    command.failed(error);
    if (this.options.resends && refusesWrites(error)) this.leave(error);
  }

  private isAnswered(command: Command, line: Line): boolean {
    if (line !== this.line || line.state !== 'ready') return false;
    this.quietSince = performance.now();
    return this.unanswered.remove(command);
  }

  private async connect(): Promise<void> {
    let address: ServerAddress | undefined;
    try {
      address = await this.options.find?.();
    } catch (error) {
      return this.failed(error as Error, false);
    }
    if (this.isClosed) return;
    this.address = address;
    const line: Line = this.lines.open(
      {
        message: (channel, message, isSharded) => {
          if (line === this.line) this.observer.message?.(channel, message, isSharded);
        },
        answered: (script, reply) => this.answered(line, script, reply),
        failed: (script, error) => this.refused(line, script, error),
        ended: (error) => this.over(line, error),
      },
      address,
    );
    this.line = line;
    this.quietSince = performance.now();
    this.watchForSilence(this.lines.silence);
    try {
      await line.opened;
      await this.options.admit?.(line);
    } catch (error) {
      // The end of the line was reported already, if that is the reason.
      if (line === this.line && line.state === 'ready') this.leave(error as Error);
      return;
    }
    if (line !== this.line || line.state !== 'ready') return;
    this.isOpen = true;
    this.attempts = 0;
    for (const command of this.unanswered.takeAll()) this.run(command);
    this.observer.ready?.(line);
  }

  private over(line: Line, error: Error | undefined): void {
    if (line !== this.line) return;
    const wasReady = this.isOpen;
    this.line = undefined;
    this.isOpen = false;
    clearReadingTimer(this.silence);
    this.silence = undefined;
    this.failed(error, wasReady);
  }

  private failed(error: Error | undefined, wasReady: boolean): void {
    if (this.isClosed) return;
    this.attempts += 1;
    if (!this.options.resends) this.fail(error ?? new Error('Connection is closed.'));
    this.observer.ended?.(error, wasReady);
    outside(() => setTimeout(() => this.isClosed || void this.connect(), retryDelay(this.attempts)).unref());
  }

  /** A connection can be dead although no end has closed it. */
  private watchForSilence(delay: number): void {
    this.silence ??= setReadingTimer(delay, () => {
      this.silence = undefined;
      if (this.isOpen && this.unanswered.size === 0) return;
      const quiet = performance.now() - this.quietSince;
      if (quiet < this.lines.silence) this.watchForSilence(this.lines.silence - quiet);
      else this.leave(this.line?.unanswered ?? new Error(`the server has sent no reply for ${Math.round(quiet)} ms`));
    });
  }
}
