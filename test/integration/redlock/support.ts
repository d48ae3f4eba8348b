import { startRedis, type RedisServer, eventually } from '../../../lab/testbed/locks/locks.js';
import { Bench, resumeAll, type BenchTerms } from '../../../lab/testbed/locks/bench.js';

/** Independent masters for the tests of a file. */
export class RedlockBench extends Bench {
  masters: RedisServer[] = [];

  constructor(
    private readonly count: number,
    terms?: BenchTerms,
  ) {
    super(terms);
  }

  get urls(): string[] {
    return this.masters.map(({ url }) => url);
  }

  /** A forced release, and a master that is away, leave longer ones. */
  protected override readonly longestTombstone = Infinity;

  protected get servers(): readonly RedisServer[] {
    return this.masters;
  }

  protected get connection(): string[] {
    return this.urls;
  }

  protected async start(): Promise<void> {
    this.masters = await Promise.all(Array.from({ length: this.count }, () => startRedis()));
  }

  protected resume(): Promise<unknown> {
    return resumeAll(this.masters);
  }

  protected flush(): Promise<unknown> {
    return Promise.all(this.masters.map(({ admin }) => admin.flushall()));
  }

  protected stop(): Promise<unknown> {
    return Promise.all(this.masters.map((master) => master.stop()));
  }

  /** Resolves when a key is held on all masters: a hold has begun when a majority has granted it. */
  async untilHeldByAll(key: string): Promise<void> {
    const what = `'${key}' held on all masters`;
    await eventually(async () => (await this.holding(key)).every(Boolean), { what });
  }

  /** The masters on which a caller holds a key. */
  async holding(key: string): Promise<boolean[]> {
    return Promise.all(this.masters.map(async ({ admin }) => (await admin.exists(`lock:state:{${key}}`)) === 1));
  }
}
