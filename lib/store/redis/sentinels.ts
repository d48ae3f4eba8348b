import type { RedisOptions, SentinelAddress } from 'ioredis';
import { SENTINEL_PATIENCE } from './connection-options.js';
import { askSentinel, type SentinelAnswer } from './sentinel-question.js';

/** When the first Sentinel has answered, the others get as much time again, and at least this many ms. */
const LEAST_GRACE = 250;
/**
 * For how many ms after its last confirmation a master is not replaced by one of an older configuration. Sentinels pass
 * on a new configuration every two seconds. An older configuration that lasts longer was made on purpose.
 */
const LOYALTY = 10_000;

/** The address of a server, as Sentinels name it. */
export interface MasterAddress {
  readonly host: string;
  readonly port: number;
}

/** The last known master, and when it was confirmed. */
interface Remembered {
  readonly address: MasterAddress;
  /** The configuration epoch, which grows with each failover; -1 if no Sentinel named it. */
  readonly epoch: number;
  confirmed: number;
}

/**
 * Finds the master by asking all Sentinels. They are asked all at once, so a silent one costs no time as long as a
 * majority answers. The newest configuration wins. The result is remembered, since a Sentinel that is cut off together
 * with an old master keeps naming it.
 */
export class Sentinels {
  private discovered: readonly SentinelAddress[] = [];
  private remembered: Remembered | undefined;
  private asking: Promise<MasterAddress> | undefined;
  private readonly closing = new AbortController();

  constructor(
    readonly options: RedisOptions,
    /** Called when the master has changed. */
    private readonly moved: () => void,
  ) {}

  /** All known Sentinels: the ones that the user named, and the ones that these name. */
  get known(): readonly SentinelAddress[] {
    const known = new Map<string, SentinelAddress>();
    for (const sentinel of [...(this.options.sentinels ?? []), ...this.discovered]) {
      const { host = '127.0.0.1', port = 26_379 } = sentinel;
      known.set(`${host}:${port}`, { ...sentinel, host, port });
    }
    return [...known.values()];
  }

  /** The master, if it is known. */
  get master(): MasterAddress | undefined {
    return this.remembered && this.resolveNat(this.remembered.address);
  }

  /** Asks all Sentinels. @throws Error if none of them answers */
  find(): Promise<MasterAddress> {
    this.asking ??= this.ask(this.known).finally(() => (this.asking = undefined));
    return this.asking;
  }

  close(): void {
    this.closing.abort();
  }

  /** Asks a Sentinel that has announced a change. Never rejects. */
  async hear(sentinel: SentinelAddress): Promise<void> {
    await this.ask([sentinel], true).catch(() => undefined);
  }

  private async ask(sentinels: readonly SentinelAddress[], isNews = false): Promise<MasterAddress> {
    const answers = await this.answersOf(sentinels);
    if (!isNews && this.options.updateSentinels !== false) {
      this.discovered = answers.flatMap(({ others }) => others).map((other) => this.resolveNat(other));
    }
    const before = this.remembered?.address;
    this.judge(answers, isNews);
    const { address } = this.remembered!;
    if (before !== undefined && !isSame(before, address)) this.moved();
    return this.resolveNat(address);
  }

  /** The answers of a majority, or all that arrive in time. Rejects if there is none. */
  private answersOf(sentinels: readonly SentinelAddress[]): Promise<SentinelAnswer[]> {
    return new Promise((resolve, reject) => {
      const answers: SentinelAnswer[] = [];
      const since = performance.now();
      let failures = 0;
      let lastError = new Error('no Sentinel answered in time');
      const giveUp = new AbortController();
      const settle = (): void => {
        clearTimeout(timer);
        this.closing.signal.removeEventListener('abort', settle);
        giveUp.abort();
        if (answers.length > 0) resolve(answers);
        else reject(lastError);
      };
      // Replies that arrived while the event loop was blocked are read first.
      const settleIn = (ms: number): NodeJS.Timeout => setTimeout(() => setImmediate(settle), ms);
      let timer = settleIn(this.options.sentinelCommandTimeout ?? SENTINEL_PATIENCE);
      const answered = (answer: SentinelAnswer): void => {
        answers.push(answer);
        if (answers.length > sentinels.length / 2 || answers.length + failures === sentinels.length) return settle();
        if (answers.length > 1) return;
        clearTimeout(timer);
        timer = settleIn(Math.max(LEAST_GRACE, performance.now() - since));
      };
      const failed = (error: Error): void => {
        lastError = error;
        failures += 1;
        if (answers.length + failures === sentinels.length) settle();
      };
      if (this.closing.signal.aborted) return settle();
      this.closing.signal.addEventListener('abort', settle, { once: true });
      for (const sentinel of sentinels) askSentinel(sentinel, this.options, giveUp.signal).then(answered, failed);
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
    return votes > this.known.length / 2 && performance.now() - remembered.confirmed > LOYALTY;
  }

  private resolveNat<Address extends MasterAddress>(address: Address): Address {
    const { natMap } = this.options;
    const name = `${address.host}:${address.port}`;
    const resolved = typeof natMap === 'function' ? natMap(name) : natMap?.[name];
    return resolved ? { ...address, ...resolved } : address;
  }
}

export const isSame = (one: MasterAddress, other: MasterAddress): boolean =>
  one.host === other.host && one.port === other.port;
