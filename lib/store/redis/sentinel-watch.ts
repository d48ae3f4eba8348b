import type { Redis, SentinelAddress } from 'ioredis';
import { clearReadingTimer, setReadingTimer } from '../../common/reading-timer.js';
import { isAnswer } from './answers.js';
import { connectSentinel } from './sentinel-question.js';
import type { Sentinels } from './sentinels.js';

const SWITCHED = '+switch-master';
/** How often, in ms, the connections are checked: one can be dead although no end has closed it. */
const TRIAL = 10_000;
/** The largest number of Sentinels to subscribe to, unless the user's options set another. */
const MOST = 10;
/** For how many ms Sentinels may delay a confirmation. */
const ANSWER_WITHIN = 250;

/**
 * Subscribes to the Sentinels to learn of a new master. After a manual failover, the old master accepts writes for
 * eight seconds or more, until the Sentinels make it a replica. New connections already go to the new master. Messages
 * are missed while a connection is down, so its Sentinel is asked when the connection is back.
 */
export class SentinelWatch {
  private readonly lines = new Map<string, Redis>();
  private trial: NodeJS.Timeout | undefined;
  /** Resolves when the master is known that the announcements so far have named. */
  private heard: Promise<unknown> = Promise.resolve();

  constructor(private readonly sentinels: Sentinels) {}

  /** Subscribes to all known Sentinels, and to no others. */
  follow(): void {
    const { known, options } = this.sentinels;
    const wanted = new Map(
      known.slice(0, options.sentinelMaxConnections ?? MOST).map((each) => [`${each.host}:${each.port}`, each]),
    );
    for (const [name, line] of this.lines) {
      if (wanted.has(name)) continue;
      line.disconnect();
      this.lines.delete(name);
    }
    for (const [name, sentinel] of wanted) {
      if (!this.lines.has(name)) this.lines.set(name, this.open(sentinel));
    }
    this.trial ??= setInterval(() => this.try(), TRIAL).unref();
  }

  close(): void {
    clearInterval(this.trial);
    for (const line of this.lines.values()) line.disconnect();
    this.lines.clear();
  }

  /**
   * Resolves when everything is known that most Sentinels had announced by now: the answer to a PING comes behind it. If
   * half of them do not answer in time, all are asked for the master.
   */
  async catchUp(): Promise<void> {
    const lines = [...this.lines.values()];
    const isCaughtUp = await new Promise<boolean>((resolve) => {
      const timer = setReadingTimer(ANSWER_WITHIN, () => resolve(false));
      let answers = 0;
      const answered = (): void => {
        answers += 1;
        if (2 * answers > lines.length) resolve(true);
      };
      const asked = lines
        .filter(({ status }) => status === 'ready')
        .map((line) => line.ping().then(answered, (error: unknown) => isAnswer(error) && answered()));
      void Promise.all(asked).then(() => {
        clearReadingTimer(timer);
        resolve(false);
      });
    });
    if (!isCaughtUp) await this.sentinels.find().catch(() => undefined);
    await this.heard;
  }

  private open(sentinel: SentinelAddress): Redis {
    const { options } = this.sentinels;
    const line = connectSentinel(sentinel, options, {
      retryStrategy: options.sentinelReconnectStrategy,
      commandTimeout: options.sentinelCommandTimeout,
      autoResubscribe: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
    });
    const hear = (): void => void (this.heard = Promise.all([this.heard, this.sentinels.hear(sentinel)]));
    line.on('message', (_channel: string, text: string) => {
      if (text.startsWith(`${options.name} `)) hear();
    });
    line.on('ready', () => {
      line.subscribe(SWITCHED).then(hear, (error: Error) => replaceSilent(line, error));
    });
    line.connect().catch(() => undefined);
    return line;
  }

  private try(): void {
    for (const line of this.lines.values()) {
      if (line.status === 'ready') line.ping().catch((error: Error) => replaceSilent(line, error));
    }
  }
}

/** Reconnects if the Sentinel was silent. A refusal is an answer, too. */
function replaceSilent(line: Redis, error: Error): void {
  if (/timed out/i.test(error.message) && line.status === 'ready') line.disconnect(true);
}
