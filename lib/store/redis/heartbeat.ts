import type { Redis } from 'ioredis';
import { clearReadingTimer, setReadingTimer, type ReadingTimer } from '../../common/reading-timer.js';
import { isAnswer } from './answers.js';

/** How often, in ms, a connection that listens is asked something, and which part of that chance adds or takes away. */
const PERIOD = 4_000;
const JITTER = 0.2;
/** After how many ms without an answer it is in doubt. */
const DEADLINE = 2_000;
/** How many ms more it has, once commands are known to be answered. */
const GRACE = 500;
/** After how many ms commands are tried again of which it is not known whether they are answered. */
const RETRY = 1_000;
/**
 * The argument of PING. Where a slot has moved, ioredis 5 takes the news for the answer to what it asked last; it is out
 * of step then, and says so, only if that had an argument.
 */
const WORD = 'heartbeat';

/**
 * Finds out a connection that listens and hears nothing any more, though nobody has closed it: a NAT, a load balancer or
 * a sidecar has forgotten it. Nothing is sent on it but this, so TCP alone would never find out.
 *
 * It is silent only if commands are answered meanwhile. When Redis itself is frozen, nobody is to connect anew.
 */
export class Heartbeat {
  /** What has been asked and is not answered yet. */
  private exchange: object | undefined;
  private timer: ReadingTimer | undefined;
  private readonly events: ReadonlyArray<readonly [event: string, listener: () => void]>;

  constructor(
    private readonly listener: Redis,
    /** Asks Redis anything on the connection for commands. */
    private readonly tryCommands: () => Promise<unknown>,
    /** The connection is silent: it is to be left. */
    private readonly silent: () => void,
  ) {
    this.events = [
      // What ioredis asks to begin with has to be answered as well.
      ['connect', () => this.begin()],
      ['ready', () => this.rest()],
      ['close', () => this.end()],
    ];
    for (const [event, tell] of this.events) listener.on(event, tell);
  }

  stop(): void {
    for (const [event, tell] of this.events) this.listener.off(event, tell);
    this.end();
  }

  private beat(): void {
    const exchange = this.begin();
    const answered = (): void => {
      if (this.exchange === exchange) this.rest();
    };
    this.listener.ping(WORD).then(answered, (error: unknown) => {
      // A refusal is an answer. What else fails, fails with the connection.
      if (isAnswer(error)) answered();
    });
  }

  private begin(): object {
    const exchange = (this.exchange = {});
    this.wake(DEADLINE, () => void this.judge(exchange));
    return exchange;
  }

  private rest(): void {
    this.exchange = undefined;
    this.wake(PERIOD * (1 + JITTER * (2 * Math.random() - 1)), () => this.beat());
  }

  private end(): void {
    this.exchange = undefined;
    clearReadingTimer(this.timer);
  }

  private async judge(exchange: object): Promise<void> {
    const sent = performance.now();
    const areAnswered = await this.areCommandsAnswered();
    if (this.exchange !== exchange) return;
    if (!areAnswered) return this.wake(RETRY, () => void this.judge(exchange));
    // A way that takes long takes long for both.
    this.wake(Math.max(GRACE, performance.now() - sent), () => {
      if (this.exchange !== exchange) return;
      this.end();
      this.silent();
    });
  }

  private async areCommandsAnswered(): Promise<boolean> {
    try {
      await this.tryCommands();
      return true;
    } catch (error) {
      return isAnswer(error);
    }
  }

  /** What has arrived while the process was held up is read first. */
  private wake(ms: number, action: () => void): void {
    clearReadingTimer(this.timer);
    this.timer = setReadingTimer(ms, action);
  }
}
