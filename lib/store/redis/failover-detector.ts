import type { Redis } from 'ioredis';

/** A part of ioredis that it keeps to itself: the connections on which it listens to Sentinels for another master. */
interface SentinelConnector {
  readonly failoverDetector?: { readonly sentinels?: ReadonlyArray<{ readonly client: Redis }> } | null;
}

/** What listens for other masters connects again when its Sentinel was away; ioredis would print each attempt that fails. */
export function hushSentinels(client: Redis): void {
  for (const sentinel of sentinelsOf(client)) sentinel.on('error', () => undefined);
}

function sentinelsOf(client: Redis): Redis[] {
  const { connector } = client as unknown as { connector?: SentinelConnector };
  return (connector?.failoverDetector?.sentinels ?? []).map((sentinel) => sentinel.client);
}
