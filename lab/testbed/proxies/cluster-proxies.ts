import type { ClusterAddress } from '../../../lib/store/redis/passed-client.js';
import type { RedisCluster } from '../servers/redis-cluster.mjs';
import type { RedisServer } from '../servers/redis-server.mjs';
import { detours } from './detours.mjs';
import { RespProxy } from './resp-proxy.mjs';

/** A proxy before each node of a Cluster, for clients that know of no other addresses. */
export class ClusterProxies implements AsyncDisposable {
  private constructor(
    private readonly cluster: RedisCluster,
    readonly all: readonly RespProxy[],
  ) {}

  static async start(cluster: RedisCluster): Promise<ClusterProxies> {
    return new ClusterProxies(cluster, await Promise.all(cluster.nodes.map((node) => RespProxy.start(node))));
  }

  /** The value for `connection`. */
  get connection(): ClusterAddress {
    const cluster = this.all.map(({ host, port }) => ({ host, port }));
    return { cluster, options: { natMap: detours(this.cluster.nodes, this.all) } };
  }

  of(node: RedisServer): RespProxy {
    return this.all[this.cluster.nodes.indexOf(node)]!;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.all.map((proxy) => proxy.close()));
  }
}
