import { printable } from '../../common/describe.js';
import { clientRecordKey } from '../../keys/index.js';
import type { CallSite, ClientRecord, ClientRecords } from '../client-records.js';
import type { Commands } from './line.js';

/** How many characters are read of a label, a pattern and the name of a method. */
const LONGEST_TEXT = 1_000;

/** The form in Redis: one key for each client, which is set together with its TTL. */
interface StoredRecord {
  readonly label: string;
  readonly sites: ReadonlyArray<readonly [pattern: string | null, method: string | null]>;
}

/** Keeps the records of clients on a Redis server or a Cluster. */
export class RedisClientRecords implements ClientRecords {
  // Private, because it knows the password: printing a lock must not reveal it.
  readonly #commands: Pick<Commands, 'send'>;

  constructor(
    commands: Pick<Commands, 'send'>,
    private readonly keyPrefix: string,
    private readonly clientId: string,
  ) {
    this.#commands = commands;
  }

  async write({ label, sites }: ClientRecord, lifetime: number): Promise<void> {
    const stored: StoredRecord = {
      label,
      sites: sites.map(({ pattern, method }) => [pattern ?? null, method ?? null]),
    };
    const key = clientRecordKey(this.keyPrefix, this.clientId);
    await this.#commands.send('SET', key, JSON.stringify(stored), 'PX', Math.ceil(lifetime));
  }

  async read(clientId: string): Promise<ClientRecord | undefined> {
    const text = await this.#commands.send('GET', clientRecordKey(this.keyPrefix, clientId));
    return typeof text === 'string' ? readRecord(text) : undefined;
  }
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
  const [pattern, method] = Array.isArray(site) ? (site as unknown[]) : [];
  return { pattern: textOf(pattern), method: textOf(method) };
}

/** The text goes into errors, tables and pages, so it is cut, and its control characters are escaped. */
const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? printable(value.slice(0, LONGEST_TEXT)) : undefined;
