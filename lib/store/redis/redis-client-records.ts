import { printable } from '../../common/describe.js';
import { busChannel, clientChannel, clientRecordKey } from '../../keys/index.js';
import type { CallSite, ClientRecord, ClientRecordStore } from '../client-records.js';
import type { Commands } from './line.js';
import type { Connection } from './redis-connection.js';
import { list, natural, readReply } from './reply-readers.js';

/** How many characters are read of a label, a pattern and the name of a method. */
const LONGEST_TEXT = 1_000;

/** The form in Redis: one key for each client, which is set together with its TTL. */
interface StoredRecord {
  readonly label: string;
  readonly sites: ReadonlyArray<readonly [string | null, string | null, number | null]>;
}

/** Keeps the records of clients on a Redis server or a Cluster. */
export const redisClientRecords = (
  connection: Pick<Connection, 'commands' | 'isCluster' | 'nodes'>,
  keyPrefix: string,
  clientId: string,
): Required<ClientRecordStore> => ({
  async write({ label, sites }, lifetime) {
    const stored: StoredRecord = {
      label,
      sites: sites.map(({ pattern, method, renewedLease }) => [pattern ?? null, method ?? null, renewedLease ?? null]),
    };
    const key = clientRecordKey(keyPrefix, clientId);
    await connection.commands.send('SET', key, JSON.stringify(stored), 'PX', Math.ceil(lifetime));
  },

  read: (id) => readClientRecord(connection.commands, keyPrefix, id),

  /** A client counts as connected while its subscription stands: Redis ends it as soon as the process has ended. */
  async connected(clientIds) {
    const channelOf = connection.isCluster ? busChannel : clientChannel;
    const channels = clientIds.map((id) => channelOf(keyPrefix, id));
    // In a Cluster, the subscription of a client is at any master.
    const counts = await Promise.all(connection.nodes().map(({ commands }) => subscribersOf(commands, channels)));
    const sums = clientIds.map((id, i) => [id, counts.reduce((sum, each) => sum + each[i]!, 0)] as const);
    return new Map(counts.length === 0 ? [] : sums.map(([id, sum]) => [id, sum > 0]));
  },
});

/** Reads the record of any client. */
export async function readClientRecord(
  commands: Pick<Commands, 'send'>,
  keyPrefix: string,
  clientId: string,
): Promise<ClientRecord | undefined> {
  const text = await commands.send('GET', clientRecordKey(keyPrefix, clientId));
  return typeof text === 'string' ? readRecord(text) : undefined;
}

/** How many connections to a server are subscribed to each channel. */
async function subscribersOf(commands: Pick<Commands, 'send'>, channels: readonly string[]): Promise<number[]> {
  const reply = await commands.send('PUBSUB', 'NUMSUB', ...channels);
  return readReply('PUBSUB NUMSUB', reply, (raw) => {
    const parts = list(raw, 2 * channels.length);
    return channels.map((_, i) => natural(parts[2 * i + 1]));
  });
}

/** Another program may have written the key, so every part is checked. */
function readRecord(text: string): ClientRecord | undefined {
  try {
    const { label: written, sites } = JSON.parse(text) as Partial<StoredRecord>;
    const label = textOf(written);
    if (label === undefined || !Array.isArray(sites)) return undefined;
    return { label, sites: sites.map(readSite) };
  } catch {
    return undefined;
  }
}

function readSite(site: unknown): CallSite {
  const [pattern, method, lease] = Array.isArray(site) ? (site as unknown[]) : [];
  const renewedLease = Number.isSafeInteger(lease) && (lease as number) > 0 ? (lease as number) : undefined;
  return { pattern: textOf(pattern), method: textOf(method), renewedLease };
}

/** The text goes into errors, tables and pages, so it is cut, and its control characters are escaped. */
const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? printable(value.slice(0, LONGEST_TEXT)) : undefined;
