import { LockStoreError } from '../../errors/index.js';
import { keyOfState, statePattern } from '../../keys/index.js';
import type { ListReply, ListRequest } from '../lock-store.js';
import type { ConnectionOptions } from './connection.js';
import type { Commands } from './line.js';
import { listOf, matching, natural, readReply, text, tuple } from './reply-readers.js';
import { storeFailure } from './store-failure.js';
import { within } from './time-limit.js';

/** About how many names one SCAN looks at: few enough that Redis serves other clients in between. */
const AT_A_TIME = 500;

/** A server, or a master of a Cluster. */
export interface ScannedNode {
  /** `''` if there is only one server. */
  readonly address: string;
  readonly commands: Commands;
}

/** How to scan: as in the options of a connection. */
type ScanOptions = Pick<ConnectionOptions, 'keyPrefix' | 'commandTimeout'>;

/**
 * Finds the keys of locks among all keys of a Redis. In a Cluster it scans one master after the other.
 * @param known the server, or the masters that are known
 * @throws LockStoreError if a server refuses, or does not answer within `commandTimeout`
 */
export async function listKeys(
  known: readonly ScannedNode[],
  options: ScanOptions,
  { cursor, budget }: ListRequest,
): Promise<ListReply> {
  if (known.length === 0) throw new LockStoreError('no node of the Cluster is known yet', { transient: true });
  const nodes = [...known].sort((a, b) => (a.address < b.address ? -1 : 1));
  const [address = '', position = '0'] = cursor.split(' ');
  // If the master has left the Cluster, the scan continues with the next one.
  const at = nodes.findIndex((node) => node.address >= address);
  const node = nodes[at];
  if (node === undefined) return { keys: [], cursor: undefined, time: Date.now() };
  try {
    const from = node.address === address ? position : '0';
    const asked = [inTime(timeOf(node.commands), options), scan(node.commands, from, budget, options)] as const;
    const [time, { keys, end }] = await Promise.all(asked);
    const next = end === '0' ? nodes[at + 1]?.address : node.address;
    return { keys, cursor: next === undefined ? undefined : `${next} ${end}`, time };
  } catch (error) {
    throw storeFailure(error);
  }
}

async function scan(
  commands: Commands,
  from: string,
  budget: number,
  options: ScanOptions,
): Promise<{ keys: string[]; end: string }> {
  const { keyPrefix } = options;
  const pattern = statePattern(keyPrefix);
  const keys = new Set<string>();
  let cursor = from;
  for (let looked = 0; looked < budget; looked += AT_A_TIME) {
    const reply = await inTime(commands.send('SCAN', cursor, 'MATCH', pattern, 'COUNT', AT_A_TIME), options);
    const [next, names] = readReply('SCAN', reply, (raw) => {
      const [next, found] = tuple(raw, 2);
      return [matching(/^\d+$/, next)[0], listOf(found, text)] as const;
    });
    for (const name of names) {
      const key = keyOfState(keyPrefix, name);
      if (key !== undefined) keys.add(key);
    }
    cursor = next;
    if (cursor === '0') break;
  }
  return { keys: [...keys], end: cursor };
}

function inTime<T>(answer: Promise<T>, { commandTimeout }: ScanOptions): Promise<T> {
  const late = `Redis did not list its keys within ${commandTimeout} ms (commandTimeout)`;
  return within(commandTimeout, answer, late);
}

/** The wall clock of a server, in ms since 1970. */
export async function timeOf(commands: Commands): Promise<number> {
  return readReply('TIME', await commands.send('TIME'), (raw) => {
    const [seconds, microseconds] = tuple(raw, 2);
    return natural(seconds) * 1_000 + Math.floor(natural(microseconds) / 1_000);
  });
}
