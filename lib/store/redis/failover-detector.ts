import type { Redis } from 'ioredis';

/** A part of ioredis that it keeps to itself: the connections on which it listens to Sentinels for another master. */
interface SentinelConnector {
  readonly failoverDetector?: { readonly sentinels?: ReadonlyArray<{ readonly client: Redis }> } | null;
}

/** What listens for other masters connects again when its Sentinel was away; ioredis would print each attempt that fails. */
export function hushSentinels(client: Redis): void {
  for (const sentinel of sentinelsOf(client)) sentinel.on('error', () => undefined);
}

/**
 * Ends what listens to Sentinels along with a client that has been disconnected. Where that was connecting, ioredis begins to
 * listen when the socket is there, for good, and Node would go on running for it.
 */
export function leaveSentinels(client: Redis): void {
  const leave = (): void => {
    hushSentinels(client);
    // ioredis would wait for one that is closed already.
    for (const sentinel of sentinelsOf(client)) if (sentinel.status !== 'end') sentinel.disconnect();
  };
  client.once('end', leave);
}

function sentinelsOf(client: Redis): Redis[] {
  const { connector } = client as unknown as { connector?: SentinelConnector };
  return (connector?.failoverDetector?.sentinels ?? []).map((sentinel) => sentinel.client);
}
