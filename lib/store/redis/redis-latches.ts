import { latchKeys } from '../../keys/index.js';
import type { CountDownReply, LatchStore } from '../latch-store.js';
import type { ConnectionOptions } from './connection.js';
import type { Connection } from './redis-connection.js';
import { flag, list, natural, text, tuple } from './reply-readers.js';
import { namedKeys, type LockNaming, type ScriptKeys } from './script-call.js';

/**
 * For how many `commandTimeout`s Redis remembers a call that has had its effect, or executes a late one. A dead connection is
 * detected after three. Then every command that got no reply is sent again.
 */
export const MEMORY = 5;

/** Reads the count that is left, and whether the call has counted. */
export function readCountDownReply(raw: unknown): CountDownReply {
  const [left, counted] = tuple(raw, 2);
  return { left: natural(left), counted: flag(counted) };
}

/** Count-down latches on one Redis server, or in a Cluster. */
export function redisLatches(
  { scripts, replicas }: Connection,
  naming: LockNaming,
  { clientId, keyPrefix, commandTimeout }: Pick<ConnectionOptions, 'clientId' | 'keyPrefix' | 'commandTimeout'>,
): LatchStore {
  const memory = MEMORY * commandTimeout;
  /** The keys, in the order of lua/shared/latch.lua. */
  const keysOf = (key: string): ScriptKeys => {
    const { latch, counted } = latchKeys(keyPrefix, key);
    return namedKeys([latch, counted], key);
  };
  return {
    setCount: ({ key, id, count, lifetime }) =>
      scripts.run('latchSet', keysOf(key), [id, count, lifetime, memory], flag),
    countDown: (key, id) =>
      scripts.run('latchCountDown', keysOf(key), [naming.of(key).address, id, memory], readCountDownReply),
    count: (key, patience, seen) =>
      scripts.run('latchCount', keysOf(key), [clientId, patience, ...seen], (raw) => {
        const [left, latch, ...opened] = list(raw, 2);
        return { left: natural(left), latch: text(latch), opened: opened.map(text) };
      }),
    delete: (key, id, latch) => scripts.run('latchDelete', keysOf(key), [id, latch, memory], flag),
    replicate: (request) => replicas.confirm(request, latchKeys(keyPrefix, request.key).counted, 'latchConfirm'),
  };
}
