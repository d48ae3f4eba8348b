import type { Redis } from 'ioredis';

/** Internals of ioredis: the connections on which it subscribes to failovers at the Sentinels. */
interface SentinelConnector {
  readonly failoverDetector?: { readonly sentinels?: ReadonlyArray<{ readonly client: Redis }> } | null;
}

/**
 * Silences ioredis' failover detector. It reconnects to a Sentinel that was away, and would print each failed attempt.
 */
export function hushSentinels(client: Redis): void {
  for (const sentinel of sentinelsOf(client)) sentinel.on('error', () => undefined);
}

function sentinelsOf(client: Redis): Redis[] {
  const { connector } = client as unknown as { connector?: SentinelConnector };
  return (connector?.failoverDetector?.sentinels ?? []).map((sentinel) => sentinel.client);
}
