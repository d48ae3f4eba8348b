import { startRedisCluster, type RedisCluster, type RedisClusterOptions } from '../servers/redis-cluster.mjs';
import { Bench, resumeAll, type BenchTerms } from './bench.js';

/** A Cluster for the tests of a file. */
export class ClusterBench extends Bench {
  cluster!: RedisCluster;

  constructor(
    private readonly clusterOptions?: RedisClusterOptions,
    terms?: BenchTerms,
  ) {
    super(terms);
  }

  /** A forced release, and a master that is away, leave longer ones. */
  protected override readonly longestTombstone = Infinity;

  protected get servers(): readonly RedisCluster[] {
    return [this.cluster];
  }

  protected get connection() {
    return { cluster: this.cluster.addresses };
  }

  protected async start(): Promise<void> {
    this.cluster = await startRedisCluster(this.clusterOptions);
  }

  protected async resume(): Promise<void> {
    await resumeAll(this.cluster.nodes);
    await this.cluster.untilWhole();
  }

  protected flush(): Promise<void> {
    return this.cluster.flush();
  }

  protected stop(): Promise<void> {
    return this.cluster.stop();
  }

  /** How often the nodes have been asked something since `resetStats`. */
  async calls(command: string): Promise<number> {
    const stats = await Promise.all(this.cluster.nodes.map((node) => node.commandStats()));
    return stats.reduce((sum, each) => sum + (each[command] ?? 0), 0);
  }

  async resetStats(): Promise<void> {
    await Promise.all(this.cluster.nodes.map((node) => node.resetCommandStats()));
  }
}
