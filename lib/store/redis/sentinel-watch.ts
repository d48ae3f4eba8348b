import type { Redis, SentinelAddress } from 'ioredis';
import { connectSentinel } from './sentinel-question.js';
import type { Sentinels } from './sentinels.js';

const SWITCHED = '+switch-master';
/** How often, in ms, the lines are tried: one can be dead without anybody closing it. */
const TRIAL = 10_000;
/** To how many Sentinels we listen at most, unless the user's options say otherwise. */
const MOST = 10;

/**
 * Listens to the Sentinels for another master. After a failover that was asked for, the old master goes on to take
 * writes for eight seconds and more, until Sentinels make it a replica, while whoever connects is sent to the new one.
 * What is told while a line is down is missed; so when it stands again its Sentinel is asked.
 */
export class SentinelWatch {
  private readonly lines = new Map<string, Redis>();
  private trial: NodeJS.Timeout | undefined;

  constructor(private readonly sentinels: Sentinels) {}

  /** Listens to all that are known by now, and to no others. */
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

  private open(sentinel: SentinelAddress): Redis {
    const { options } = this.sentinels;
    const line = connectSentinel(sentinel, options, {
      retryStrategy: options.sentinelReconnectStrategy,
      commandTimeout: options.sentinelCommandTimeout,
      autoResubscribe: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
    });
    const hear = (): void => void this.sentinels.hear(sentinel);
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

/** A refusal is an answer, too. */
function replaceSilent(line: Redis, error: Error): void {
  if (/timed out/i.test(error.message) && line.status === 'ready') line.disconnect(true);
}
