import type { Cluster, Redis } from 'ioredis';
import { listed } from '../../common/describe.js';
import { readClientRecord } from '../../store/redis/redis-client-records.js';
import { answerUnless, isReply, type Server } from '../deployment/deployment.js';
import { labelName } from '../output/texts.js';
import type { Session } from '../session.js';
import { ok, warning, type Finding } from './finding.js';

/** The channel of a client; the part before the last colon may be the bus of a Cluster or the slot of a key. */
const CHANNEL = /^(.+):client:(?:.+:)?([0-9a-f]{32})$/s;

/** How many other prefixes are named. */
const MOST = 5;
/** How many clients are named. */
const MOST_LABELS = 20;

/** The channels of clients that a server knows; `undefined`: the user may not ask, or the server lacks the command. */
export async function clientChannels({ client }: Server, inCluster: boolean): Promise<string[] | undefined> {
  const ask = async (census: string): Promise<string[] | undefined> =>
    (await answerUnless(isReply, client.call('PUBSUB', census, '*:client:*'))) as string[] | undefined;
  const names = await ask('CHANNELS');
  // Redis before 7 has no SHARDCHANNELS.
  return inCluster && names !== undefined ? [...names, ...((await ask('SHARDCHANNELS')) ?? [])] : names;
}

/** Counts and names the clients that listen with this prefix, on all servers. With a wrong prefix, every key looks free. */
export async function checkClients(
  { prefix, deployment: { connection } }: Session,
  channels: readonly string[],
): Promise<Finding> {
  const own = [...(clientsByPrefix(channels).get(prefix) ?? [])];
  const prefixes = otherPrefixes(channels, prefix);
  if (own.length === 0 && prefixes === undefined) return ok('clients', 'none is connected now, with any prefix');
  if (own.length > 0) {
    const [first] = [connection].flat() as Array<Redis | Cluster>;
    const send = (command: string, ...args: ReadonlyArray<string | number>) => first!.call(command, ...args);
    const labels = await labelsOf({ send }, prefix, own.slice(0, MOST_LABELS + 1));
    const found = `${own.length} connected with the prefix '${prefix}': ${listed(labels, MOST_LABELS)}`;
    if (prefixes === undefined) return ok('clients', found);
    return warning(
      'clients',
      `${found}; other clients have the prefix ${prefixes}`,
      'clients with different prefixes do not exclude each other: if they belong to one application, give them one keyPrefix',
    );
  }
  return warning(
    'clients',
    `no client is connected with the prefix '${prefix}'; others have the prefix ${prefixes}`,
    'set --prefix to the keyPrefix of the application',
  );
}

/** Names the prefixes of other clients; `undefined`: there are none. */
export function otherPrefixes(channels: readonly string[], prefix: string): string | undefined {
  const others = [...clientsByPrefix(channels).keys()].filter((used) => used !== prefix).sort();
  if (others.length === 0) return undefined;
  return listed(
    others.map((used) => `'${used}'`),
    MOST,
  );
}

/** The ids of the clients that listen, by their prefix. */
function clientsByPrefix(channels: readonly string[]): Map<string, Set<string>> {
  const clients = new Map<string, Set<string>>();
  for (const name of channels) {
    const [, used, id] = CHANNEL.exec(name) ?? [];
    if (used !== undefined) clients.set(used, (clients.get(used) ?? new Set()).add(id!));
  }
  return clients;
}

type Asked = Parameters<typeof readClientRecord>[0];

/** The labels of clients. A client that has held nothing yet has written no label, and is named by its id. */
const labelsOf = async (commands: Asked, prefix: string, ids: readonly string[]): Promise<string[]> =>
  (
    await Promise.all(
      ids.map(async (client) => {
        const record = await readClientRecord(commands, prefix, client).catch(() => undefined);
        return labelName({ client, label: record?.label });
      }),
    )
  ).sort();
