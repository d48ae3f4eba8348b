import { gather, given, type Answers } from './gather.js';
import { isAnswer } from './store-failure.js';
import { LastingLine } from './lasting-line.js';
import { addressOf, type Lines, type ServerAddress } from './line.js';

const SWITCHED = '+switch-master';
/** How often, in ms, the connections are checked: one can be dead although no end has closed it. */
const TRIAL = 10_000;
/** For how many ms Sentinels may delay a confirmation. */
const ANSWER_WITHIN = 250;

/** The Sentinels that are watched. */
interface Sentinels {
  readonly known: readonly ServerAddress[];
  /** `most`: the largest number of Sentinels to subscribe to. */
  readonly options: { readonly name: string; readonly lines: Lines; readonly most: number };
  /** Asks a Sentinel that has announced a change. Never rejects. */
  hear(sentinel: ServerAddress): Promise<void>;
  find(): Promise<unknown>;
}

/**
 * Subscribes to the Sentinels to learn of a new master. After a manual failover, the old master accepts writes for
 * eight seconds or more, until the Sentinels make it a replica. New connections already go to the new master. Messages
 * are missed while a connection is down, so its Sentinel is asked when the connection is back.
 */
export class SentinelWatch {
  private readonly lines = new Map<string, LastingLine>();
  private trial: NodeJS.Timeout | undefined;
  /** Resolves when the master is known that the announcements so far have named. */
  private heard: Promise<unknown> = Promise.resolve();

  constructor(private readonly sentinels: Sentinels) {}

  /** Subscribes to all known Sentinels, and to no others. */
  follow(): void {
    const { known, options } = this.sentinels;
    const wanted = new Map(known.slice(0, options.most).map((each) => [addressOf(each), each]));
    for (const [name, line] of this.lines) {
      if (wanted.has(name)) continue;
      line.close();
      this.lines.delete(name);
    }
    for (const [name, sentinel] of wanted) {
      if (!this.lines.has(name)) this.lines.set(name, this.open(sentinel));
    }
    this.trial ??= setInterval(() => this.try(), TRIAL).unref();
  }

  close(): void {
    clearInterval(this.trial);
    for (const line of this.lines.values()) line.close();
    this.lines.clear();
  }

  /**
   * Resolves when everything is known that most Sentinels had announced by now: the answer to a PING comes behind it. If
   * half of them do not answer in time, all are asked for the master.
   */
  async catchUp(): Promise<void> {
    const asked = [...this.lines.values()].map((line) =>
      line.send('PING').catch((error: unknown) => {
        if (!isAnswer(error)) throw error;
      }),
    );
    const isMost = (answers: Answers<unknown>): boolean => 2 * given(answers).length > asked.length;
    if (!isMost(await gather(asked, ANSWER_WITHIN, isMost))) await this.sentinels.find().catch(() => undefined);
    await this.heard;
  }

  private open(sentinel: ServerAddress): LastingLine {
    const { name, lines } = this.sentinels.options;
    const hear = (): void => void (this.heard = Promise.all([this.heard, this.sentinels.hear(sentinel)]));
    const lasting = new LastingLine(
      lines,
      {
        ready: (line) => void line.subscribe(SWITCHED).then(hear, () => undefined),
        message: (_channel, text) => {
          if (text.startsWith(`${name} `)) hear();
        },
      },
      { find: async () => sentinel },
    );
    lasting.open();
    return lasting;
  }

  /** A line that does not answer is replaced. */
  private try(): void {
    for (const line of this.lines.values()) line.send('PING').catch(() => undefined);
  }
}
