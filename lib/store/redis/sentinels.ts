import type { RedisOptions } from 'ioredis';
import { failureOf, gatherWithin, repliesOf, type Answers } from '../../common/answers.js';
import { mappedBy } from './connection-options.js';
import { LastingLine } from './lasting-line.js';
import { askOnce, byAddress, isSame, type Lines, type ServerAddress } from './line.js';
import type { MasterFinder } from './servers.js';
import { isAnswer } from './store-failure.js';

/** When the first Sentinel has answered, the others get as much time again, and at least this many ms. */
const LEAST_GRACE = 250;
/**
 * For how many ms after its last confirmation a master is not replaced by one of an older configuration. Sentinels pass
 * on a new configuration every two seconds. An older configuration that lasts longer was made on purpose.
 */
const LOYALTY = 10_000;

const SWITCHED = '+switch-master';
/** How often, in ms, the connections are checked: one can be dead although no end has closed it. */
const TRIAL = 10_000;
/** For how many ms Sentinels may delay a confirmation. */
const ANSWER_WITHIN = 250;

/** The largest number of Sentinels to subscribe to, unless the user's options set another. */
const MOST = 10;

/** How to find the Sentinels, and what they are asked. */
export interface SentinelOptions extends Pick<
  RedisOptions,
  'failoverDetector' | 'natMap' | 'sentinelMaxConnections' | 'updateSentinels'
> {
  /** The name of the master. */
  readonly name: string;
  readonly sentinels: readonly ServerAddress[];
  /** After how many ms without an answer all Sentinels are asked again. */
  readonly patience: number;
}

/** The answer of one Sentinel about the master. */
interface SentinelAnswer {
  readonly address: ServerAddress;
  /** The configuration epoch, which grows with each failover; -1 if the Sentinel does not permit the question. */
  readonly epoch: number;
  /** The other Sentinels that it knows. */
  readonly others: readonly ServerAddress[];
}

/** The last known master, and when it was confirmed. */
interface Remembered extends Omit<SentinelAnswer, 'others'> {
  confirmed: number;
}

/**
 * Finds the master by asking all Sentinels. They are asked all at once, so a silent one costs no time as long as a
 * majority answers. The newest configuration wins. The result is remembered, since a Sentinel that is cut off together
 * with an old master keeps naming it.
 *
 * Subscribes to the Sentinels, too. After a manual failover, the old master accepts writes for eight seconds or more, until
 * the Sentinels make it a replica. New connections already go to the new master. Messages are missed while a connection is
 * down, so its Sentinel is asked when the connection is back.
 */
export class Sentinels implements MasterFinder {
  moved = (): void => undefined;
  readonly catchUp: MasterFinder['catchUp'];

  private discovered: readonly ServerAddress[] = [];
  private remembered: Remembered | undefined;
  private asking: Promise<ServerAddress> | undefined;
  private readonly closing = new AbortController();
  /** The address at which a server can be reached, given the address that a Sentinel has named. */
  private readonly resolveNat: (address: ServerAddress) => ServerAddress;
  /** The connections to Sentinels that announce a new master, by address. */
  private readonly watched = new Map<string, LastingLine>();
  private trial: NodeJS.Timeout | undefined;
  /** Resolves when the master is known that the announcements so far have named. */
  private heard: Promise<unknown> = Promise.resolve();

  /** @param lines opens lines to Sentinels */
  constructor(
    private readonly lines: Lines,
    private readonly options: SentinelOptions,
  ) {
    this.resolveNat = mappedBy(options.natMap);
    if (options.failoverDetector !== false) this.catchUp = () => this.hearAnnouncements();
  }

  /** All known Sentinels: the ones that the user named, and the ones that these name. */
  private get known(): ReadonlyMap<string, ServerAddress> {
    return byAddress([...this.options.sentinels, ...this.discovered]);
  }

  get master(): ServerAddress | undefined {
    return this.remembered && this.resolveNat(this.remembered.address);
  }

  /** Asks all Sentinels. @throws Error if none of them answers */
  find(): Promise<ServerAddress> {
    this.follow();
    this.asking ??= this.ask([...this.known.values()])
      .catch((error: Error) => {
        throw new Error(`All Sentinels are unreachable: ${error.message}`);
      })
      .finally(() => (this.asking = undefined));
    return this.asking;
  }

  close(): void {
    clearInterval(this.trial);
    for (const line of this.watched.values()) line.close();
    this.closing.abort();
  }

  /** Subscribes to all known Sentinels, and to no others. */
  private follow(): void {
    if (this.catchUp === undefined || this.closing.signal.aborted) return;
    const wanted = new Map([...this.known].slice(0, this.options.sentinelMaxConnections ?? MOST));
    for (const [address, line] of this.watched) {
      if (wanted.has(address)) continue;
      line.close();
      this.watched.delete(address);
    }
    for (const [address, sentinel] of wanted)
      if (!this.watched.has(address)) this.watched.set(address, this.subscribed(sentinel));
    // A line that does not answer is replaced.
    const ping = (): void => this.watched.forEach((line) => void line.send('PING').catch(() => undefined));
    this.trial ??= setInterval(ping, TRIAL).unref();
  }

  /**
   * The answer to a PING comes behind the announcements. A Sentinel whose connection is being made may have announced something
   * meanwhile, so it does not count. If half of the Sentinels do not answer in time, all are asked.
   */
  private async hearAnnouncements(): Promise<void> {
    const lines = [...this.watched.values()];
    const asked = lines
      .filter(({ isReady }) => isReady)
      .map((line) =>
        line.send('PING').catch((error: unknown) => {
          if (!isAnswer(error)) throw error;
          return 'refused';
        }),
      );
    const isMost = (answers: Answers<unknown>): boolean => 2 * repliesOf(answers).length > lines.length;
    // Not by `find`: the answers to questions that are under way may be older than the announcement.
    if (!isMost(await gatherWithin(ANSWER_WITHIN, asked, isMost)))
      await this.ask([...this.known.values()]).catch(() => undefined);
    await this.heard;
  }

  private subscribed(sentinel: ServerAddress): LastingLine {
    // The Sentinel that has announced a change is asked.
    const hear = (): void => {
      const answered = this.ask([sentinel], true).catch(() => undefined);
      this.heard = Promise.all([this.heard, answered]);
    };
    const lasting = new LastingLine(
      this.lines,
      {
        ready: (line) => void line.subscribe(SWITCHED).then(hear, () => undefined),
        message: (_channel, text) => {
          if (text.startsWith(`${this.options.name} `)) hear();
        },
      },
      { find: async () => sentinel },
    );
    lasting.open();
    return lasting;
  }

  private async ask(sentinels: readonly ServerAddress[], isNews = false): Promise<ServerAddress> {
    const answers = await this.answersOf(sentinels);
    if (!isNews && this.options.updateSentinels !== false) {
      this.discovered = answers.flatMap(({ others }) => others).map(this.resolveNat);
      this.follow();
    }
    const before = this.remembered?.address;
    this.judge(answers, isNews);
    const { address } = this.remembered!;
    if (before !== undefined && !isSame(before, address)) this.moved();
    return this.resolveNat(address);
  }

  /** The answers of a majority, or all that arrive in time. Rejects if there is none. */
  private async answersOf(sentinels: readonly ServerAddress[]): Promise<readonly SentinelAnswer[]> {
    const giveUp = new AbortController();
    const signal = AbortSignal.any([giveUp.signal, this.closing.signal]);
    const asked = sentinels.map((sentinel) => this.askOne(sentinel, signal));
    const since = performance.now();
    const first = await gatherWithin(this.options.patience, asked, (answers) => repliesOf(answers).length > 0);
    const grace = repliesOf(first).length === 0 ? 0 : Math.max(LEAST_GRACE, performance.now() - since);
    const answers = await gatherWithin(grace, asked, (sofar) => repliesOf(sofar).length > sentinels.length / 2);
    giveUp.abort();
    if (repliesOf(answers).length === 0) throw (await failureOf(asked))!;
    return repliesOf(answers);
  }

  /**
   * Asks one Sentinel for the address of the master, and for its configuration epoch.
   * @throws Error if the Sentinel cannot be reached, or does not know the master
   */
  private askOne(sentinel: ServerAddress, giveUp: AbortSignal): Promise<SentinelAnswer> {
    const { name } = this.options;
    return askOnce(this.lines, sentinel, giveUp, async (line) => {
      // The order matters: the address must not be older than the epoch, which may belong to a configuration that has
      // just been replaced.
      const words = ['MASTER', 'GET-MASTER-ADDR-BY-NAME', 'SENTINELS'];
      const replies = await Promise.allSettled(words.map((word) => line.send('SENTINEL', word, name)));
      const [master, address, others] = replies.map((reply) =>
        reply.status === 'fulfilled' ? reply.value : undefined,
      );
      if (replies[1]?.status === 'rejected') throw replies[1].reason;
      if (!Array.isArray(address)) throw new Error(`a Sentinel does not know the master '${name}'`);
      return {
        address: { host: String(address[0]), port: Number(address[1]) },
        epoch: Number(read(master)['config-epoch'] ?? -1),
        others: (Array.isArray(others) ? others : [])
          .map(read)
          .filter(({ flags = '', ip, port }) => !flags.includes('disconnected') && ip && port)
          .map(({ ip, port }) => ({ host: String(ip), port: Number(port) })),
      };
    });
  }

  private judge(answers: readonly SentinelAnswer[], isNews: boolean): void {
    const votesFor = ({ address }: SentinelAnswer): number =>
      answers.filter((other) => isSame(other.address, address)).length;
    const best = answers.reduce((one, other) =>
      other.epoch > one.epoch || (other.epoch === one.epoch && votesFor(other) > votesFor(one)) ? other : one,
    );
    const { remembered } = this;
    const now = performance.now();
    if (remembered !== undefined && answers.some(({ address }) => isSame(address, remembered.address))) {
      remembered.confirmed = now;
    }
    if (remembered !== undefined && !this.isTrusted(best, votesFor(best), isNews, remembered)) return;
    this.remembered = { address: best.address, epoch: best.epoch, confirmed: now };
  }

  private isTrusted(best: SentinelAnswer, votes: number, isNews: boolean, remembered: Remembered): boolean {
    if (isSame(best.address, remembered.address)) return best.epoch >= remembered.epoch;
    if (best.epoch > remembered.epoch) return true;
    if (isNews && best.epoch === -1 && remembered.epoch === -1) return true;
    return votes > this.known.size / 2 && performance.now() - remembered.confirmed > LOYALTY;
  }
}

/** Reads a flat list of names and values. */
function read(reply: unknown): Record<string, string> {
  const fields: Record<string, string> = {};
  if (!Array.isArray(reply)) return fields;
  for (let i = 0; i + 1 < reply.length; i += 2) fields[String(reply[i])] = String(reply[i + 1]);
  return fields;
}
