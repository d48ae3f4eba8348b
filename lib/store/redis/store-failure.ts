import { messageOf } from '../../common/describe.js';
import { LockConfigError, LockStoreError } from '../../errors/index.js';
import { foreignError } from './foreign-error.js';

/** Errors of a server that starts, fails over, is busy or full, and errors for a lost connection. */
const TRANSIENT =
  /\b(LOADING|READONLY|BUSY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|UNBLOCKED|MOVED|ASK)\b|max number of clients|Connection is closed|ECONN|ETIMEDOUT|EPIPE|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH/i;

/** A command that the server does not know, or not inside scripts. */
const UNKNOWN_COMMAND = /unknown (redis )?command|unknown subcommand|not allowed from script/i;

/** Whether a server lacks a command: not only its user the permission. */
export const lacksCommand = (error: unknown): boolean => UNKNOWN_COMMAND.test(messageOf(error));

const READONLY = /\bREADONLY\b/;

/** Whether a server has refused a write because it is a replica, perhaps since a failover. */
export const refusesWrites = (error: unknown): boolean => READONLY.test(messageOf(error));

/** The answer of a server that has as many connections as it accepts. It closes the new one then. */
const FULL = /^ERR max number of clients/;
/** What to do then. */
const MORE_CONNECTIONS = 'raise its maxclients, or close connections of other clients';

const SEVERAL_SLOTS = /\bCROSSSLOT\b/;

/** What to do about errors that an operator has to fix. */
const ADVICE: ReadonlyArray<readonly [RegExp, string]> = [
  [/\bOOM\b/, 'Redis is out of memory: raise maxmemory or delete data'],
  [/\b(NOAUTH|WRONGPASS)\b/, 'the user or password in `connection` is missing or wrong'],
  // For a script, Redis 7.0 and Valkey give these texts without the code.
  [
    /\bNOPERM\b|user executing the script can't|ACL failure in script/,
    'the Redis user lacks a permission that locks need',
  ],
  [/\bWRONGTYPE\b/, 'the key belongs to another application: choose another keyPrefix'],
  [/\bMISCONF\b/, 'Redis refuses writes because it cannot save to disk'],
  [/\bNOREPLICAS\b/, 'Redis has fewer replicas than its min-replicas-to-write demands'],
  [READONLY, 'this server is a replica'],
  [FULL, `the server accepts no more connections: ${MORE_CONNECTIONS}`],
  [UNKNOWN_COMMAND, 'this server lacks a command that locks need: npx nestjs-redis-locks doctor names it'],
  [SEVERAL_SLOTS, 'this is one endpoint of a Cluster, and one command has used keys of several slots'],
  [/\bMOVED\b/, 'the server is one node of a Cluster: write connection: { cluster: [{ host, port }] }'],
];

/** Whether a server has refused a command because its keys are in several slots of a Cluster. */
export const refusesSeveralSlots = (error: unknown): boolean => SEVERAL_SLOTS.test(messageOf(error));

/** What a script raises when it meets data of another layout (lua/shared/keys.lua). */
const OTHER_LAYOUT = /\bLOCKLAYOUT found (\S+), expected (\d+)/;

/** Names the command of a script that failed, if Redis says in which line. */
export function commandAt(source: string, error: unknown): string | undefined {
  const line = /@user_script: ?(\d+)/.exec(messageOf(error))?.[1];
  return line === undefined ? undefined : /call\('([A-Z]+)'/.exec(source.split('\n')[Number(line) - 1] ?? '')?.[1];
}

/**
 * Wraps an error of the client or the server in a `LockStoreError`. `command`: the command of a script that has failed, if
 * known.
 */
export function storeFailure(error: unknown, key?: string, command?: string): LockStoreError {
  if (error instanceof LockStoreError) return error;
  const cause = foreignError(error);
  // A password may be any word, also a word that the patterns look for. So the pattern is matched before the password is removed.
  const said = messageOf(error);
  const [, found, expected] = OTHER_LAYOUT.exec(said) ?? [];
  if (found !== undefined) {
    return new LockStoreError(
      `Redis holds data of layout ${found} for this key, and this client reads and writes layout ${expected}: ` +
        'a process with another version of nestjs-redis-locks uses the same keyPrefix. ' +
        'Stop all processes of one version, and wait until their leases have ended (docs/deploy.md, "Upgrades").',
      { key, cause },
    );
  }
  const advice = ADVICE.find(([pattern]) => pattern.test(said))?.[1];
  const transient = TRANSIENT.test(said);
  const called = command === undefined || transient ? '' : `; the script called ${command}`;
  const why = advice === undefined ? '' : ` (${advice}${called})`;
  return new LockStoreError(`Redis failed${why}: ${cause.message}`, { key, cause, transient });
}

/** The error of a connection with TLS that gets no answer. `does`: what the server does. */
export const silentWithTls = (peer: string, does: string): Error =>
  new Error(`${peer} ${does} not answer with TLS: write redis://, or no tls, for a server without TLS`);

const WITH_TLS = 'if it expects TLS, write rediss:// or tls: {}';

/** The error of a connection that gets no answer. Some servers with TLS wait without limit for a client that begins without it. */
export const silentServer = (peer: string, hasTls: boolean): Error =>
  new Error(`${peer} accepts connections and does not answer${hasTls ? '' : `: ${WITH_TLS}`}`);

/**
 * The error of a connection that the server has closed before it answered. A full server, or one in protected mode, says why,
 * and closes the connection so soon that clients mostly cannot read it. A server with TLS says nothing to a client without it.
 */
export function closedUnanswered(peer: string, hasTls: boolean, cause: Error | undefined): Error {
  const how = cause === undefined ? '' : ` (${cause.message})`;
  const tls = hasTls ? 'if it asks for a client certificate, write tls: { cert, key }' : WITH_TLS;
  return new Error(
    `${peer} closed the connection before it answered${how}: ${tls}; if it is in protected mode, give it a password; ` +
      `if max number of clients reached, ${MORE_CONNECTIONS}`,
    { cause },
  );
}

/** An error that says what to do if the server refuses a database. Other errors are returned as they are. */
export function databaseRefusal(error: Error, db: unknown): Error {
  if (!isAnswer(error) || /^(NOAUTH|WRONGPASS|LOADING|MASTERDOWN)/.test(error.message)) return error;
  return new LockConfigError(
    `Redis refuses database ${String(db)} of connection: ${error.message}. ` +
      'Write a database that it has, such as 0: redis://host:6379/0 or { db: 0 }.',
    { cause: error },
  );
}

/** Whether an error is a reply of the server, and not a failure of the connection. Works with every copy of ioredis. */
export const isAnswer = (error: unknown): boolean => error instanceof Error && error.name === 'ReplyError';
