import { clearReadingTimer, setReadingTimer, type ReadingTimer } from '../../common/reading-timer.js';
import { isAnswer } from './store-failure.js';

/**
 * How often, in ms, a heartbeat is sent on a subscriber connection, and by which part of that the interval varies at
 * random.
 */
const PERIOD = 4_000;
const JITTER = 0.2;
/** After how many ms without an answer the connection is in doubt. */
const DEADLINE = 2_000;
/** How many ms more the connection has, once a command has been answered. */
const GRACE = 500;
/** After how many ms the commands are tried again if they were not answered. */
const RETRY = 1_000;
/**
 * The argument of PING. If a slot has moved, ioredis 5 takes that message for the reply to its last command. It notices
 * the mix-up only if that command had an argument.
 */
export const HEARTBEAT = 'heartbeat';

/**
 * Detects a subscriber connection that no longer receives messages although no end has closed it: for example, because
 * a NAT, a load balancer or a sidecar has dropped it. Nothing else is sent on this connection, so TCP alone would never
 * find out. The connection counts as dead only if commands are answered in the meantime. If Redis itself is frozen,
 * reconnecting does not help.
 */
export class Heartbeat {
  /** The heartbeat that has not been answered yet. */
  private exchange: object | undefined;
  private timer: ReadingTimer | undefined;

  constructor(
    /** Sends a PING on the subscriber connection. */
    private readonly ping: () => Promise<unknown>,
    /** Sends a command to Redis on the connection for commands. */
    private readonly tryCommands: () => Promise<unknown>,
    /** Called when the connection is dead and has to be closed. */
    private readonly silent: () => void,
  ) {}

  private beat(): void {
    const exchange = this.begin();
    const answered = (): void => {
      if (this.exchange === exchange) this.rest();
    };
    this.ping().then(answered, (error: unknown) => {
      // A refusal is an answer. Any other error comes with the end of the connection.
      if (isAnswer(error)) answered();
    });
  }

  /** The connection is made. The server also has to answer the commands that a client sends then. */
  begin(): object {
    const exchange = (this.exchange = {});
    this.wake(DEADLINE, () => void this.judge(exchange));
    return exchange;
  }

  /** The server has answered. */
  rest(): void {
    this.exchange = undefined;
    this.wake(PERIOD * (1 + JITTER * (2 * Math.random() - 1)), () => this.beat());
  }

  /** The connection has ended. */
  end(): void {
    this.exchange = undefined;
    clearReadingTimer(this.timer);
  }

  private async judge(exchange: object): Promise<void> {
    const sent = performance.now();
    const areAnswered = await this.areCommandsAnswered();
    if (this.exchange !== exchange) return;
    if (!areAnswered) return this.wake(RETRY, () => void this.judge(exchange));
    // If the network is slow, both connections are slow.
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

  /** Replies that arrived while the event loop was blocked are read first. */
  private wake(ms: number, action: () => void): void {
    clearReadingTimer(this.timer);
    this.timer = setReadingTimer(ms, action);
  }
}
