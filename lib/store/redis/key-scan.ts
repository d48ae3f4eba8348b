import { LockStoreError } from '../../errors/index.js';
import { keyOfState, statePattern } from '../../keys/index.js';
import type { ListReply, ListRequest } from '../lock-store.js';
import type { Commands } from './line.js';
import { listOf, matching, natural, text, tuple } from './reply-readers.js';
import type { Asker } from './script-runner.js';

/** About how many names one SCAN looks at: few enough that Redis serves other clients in between. */
const AT_A_TIME = 500;

/** A server, or a master of a Cluster. */
export interface ScannedNode {
  /** `''` if there is only one server. */
  readonly address: string;
  readonly commands: Commands;
}

/**
 * Finds the keys of locks among all keys of a Redis. In a Cluster it scans one master after the other.
 * @param known the server, or the masters that are known
 * @throws LockStoreError if a server refuses, or does not answer within `commandTimeout`
 */
export async function listKeys(
  asker: Asker,
  known: readonly ScannedNode[],
  keyPrefix: string,
  { cursor, budget }: ListRequest,
): Promise<ListReply> {
  if (known.length === 0) throw new LockStoreError('no node of the Cluster is known yet', { transient: true });
  const nodes = [...known].sort((a, b) => (a.address < b.address ? -1 : 1));
  const [address = '', position = '0'] = cursor.split(' ');
  // If the master has left the Cluster, the scan continues with the next one.
  const at = nodes.findIndex((node) => node.address >= address);
  const node = nodes[at];
  if (node === undefined) return { keys: [], cursor: undefined, time: Date.now() };
  const keys = new Set<string>();
  let place = node.address === address ? position : '0';
  const time = asker.ask(['TIME'], readTime, node.commands);
  const scan = async (): Promise<void> => {
    for (let looked = 0; looked === 0 || (place !== '0' && looked < budget); looked += AT_A_TIME) {
      const words = ['SCAN', place, 'MATCH', statePattern(keyPrefix), 'COUNT', AT_A_TIME] as const;
      const [next, names] = await asker.ask(words, readScan, node.commands);
      place = next;
      for (const name of names) {
        const key = keyOfState(keyPrefix, name);
        if (key !== undefined) keys.add(key);
      }
    }
  };
  await Promise.all([time, scan()]);
  const next = place === '0' ? nodes[at + 1]?.address : node.address;
  return { keys: [...keys], cursor: next === undefined ? undefined : `${next} ${place}`, time: await time };
}

function readScan(raw: unknown): readonly [place: string, names: readonly string[]] {
  const [place, found] = tuple(raw, 2);
  return [matching(/^\d+$/, place)[0], listOf(found, text)];
}

/** Reads the wall clock of a server, in ms since 1970. */
export function readTime(raw: unknown): number {
  const [seconds, microseconds] = tuple(raw, 2);
  return natural(seconds) * 1_000 + Math.floor(natural(microseconds) / 1_000);
}
