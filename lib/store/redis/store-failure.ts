import { LockStoreError } from '../../errors/index.js';
import { foreignError, messageOf } from './foreign-error.js';

/** Errors of a server that starts, fails over or is busy, and errors of ioredis for a lost connection. */
const TRANSIENT =
  /\b(LOADING|READONLY|BUSY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|UNBLOCKED|MOVED|ASK)\b|Connection is closed|connection close|isn't writeable|Command timed out|ECONN|ETIMEDOUT|EPIPE|max retries|None of startup nodes|Too many Cluster redirections/i;

/** What to do about errors that an operator has to fix. */
const ADVICE: ReadonlyArray<readonly [RegExp, string]> = [
  [/\bOOM\b/, 'Redis is out of memory: raise maxmemory or delete data'],
  [/\b(NOAUTH|WRONGPASS)\b/, 'the user or password in `connection` is missing or wrong'],
  // For a script, Redis 7.0 gives this text without a code.
  [/\bNOPERM\b|user executing the script can't/, 'the Redis user lacks a permission that locks need'],
  [/\bWRONGTYPE\b/, 'the key belongs to another application: choose another keyPrefix'],
  [/\bMISCONF\b/, 'Redis refuses writes because it cannot save to disk'],
  [/\bNOREPLICAS\b/, 'Redis has fewer replicas than its min-replicas-to-write demands'],
  [/\bREADONLY\b/, 'this server is a replica'],
  [/\bMOVED\b/, 'the server is one node of a Cluster: write connection: { cluster: [{ host, port }] }'],
];

/** What a script raises when it meets data of another layout (lua/shared/layout.lua). */
const OTHER_LAYOUT = /\bLOCKLAYOUT found (\S+), expected (\d+)/;

/** Wraps an error of the client or the server in a `LockStoreError`. */
export function storeFailure(error: unknown, key?: string): LockStoreError {
  if (error instanceof LockStoreError) return error;
  const cause = foreignError(error);
  // A password may be any word, also a word that the patterns look for. So the pattern is matched before the password is removed.
  const said = messageOf(error);
  const [, found, expected] = OTHER_LAYOUT.exec(said) ?? [];
  if (found !== undefined) {
    return new LockStoreError(
      `Redis holds data of layout ${found} for this key, and this client reads and writes layout ${expected}: ` +
        'a process with another version of nestjs-redis-locks uses the same keyPrefix. ' +
        'Stop all processes of one version, and wait until their leases have ended (docs/operations.md, "Upgrades").',
      { key, cause },
    );
  }
  const advice = ADVICE.find(([pattern]) => pattern.test(said))?.[1];
  const why = advice === undefined ? '' : ` (${advice})`;
  return new LockStoreError(`Redis failed${why}: ${cause.message}`, { key, cause, transient: TRANSIENT.test(said) });
}
