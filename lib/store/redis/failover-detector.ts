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
 * Has a client ask its Sentinels anew where the master is when one of those that it listens to was away: what they said
 * meanwhile was missed, and the old master may go on for long. With that it listens anew; ioredis would subscribe again on the
 * old connection, and leave it to nobody to handle when that fails.
 */
export function askAgainAfterSilence(client: Redis): void {
  for (const sentinel of sentinelsOf(client)) {
    let hasListened = sentinel.status === 'ready';
    sentinel.options.autoResubscribe = false;
    sentinel.on('ready', () => {
      if (hasListened && client.status === 'ready') client.disconnect(true);
      hasListened = true;
    });
  }
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
