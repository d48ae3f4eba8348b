import { withoutLogin } from '../../common/credentials.js';

/** The fields of ioredis' and Node's options whose texts are secret. */
const SECRET_FIELDS: ReadonlySet<string> = new Set([
  'password',
  'sentinelPassword',
  'passphrase',
  'key',
  'pem',
  'pfx',
  'buf',
]);
/** The fields that hold more options. */
const NESTED_FIELDS: ReadonlySet<string> = new Set([
  ...['options', 'redisOptions', 'tls', 'sentinelTLS', 'cluster', 'startupNodes', 'nodeTLS'],
  ...SECRET_FIELDS,
]);

/** A secret that is shorter may be a part of ordinary words, so it is looked for as a word of its own. */
const LONG = 8;

/** Whose connections are in use by now. */
const owners = new Set<WeakRef<object>>();
/** A URL, options, or a client, whose options may change. */
const connections = new WeakMap<object, unknown>();

/** Has the credentials of a connection taken out of the messages of all foreign errors, for as long as its owner lives. */
export function guardCredentials(owner: object, connection: unknown): void {
  connections.set(owner, connection);
  owners.add(new WeakRef(owner));
}

/** A message of a server, of ioredis or of Node without the credentials in it. */
export function withoutCredentials(text: string, more: readonly string[] = []): string {
  let clean = text;
  for (const secret of new Set([...more, ...knownSecrets()])) {
    for (const form of [secret, encodeURIComponent(secret)]) {
      clean = clean.replace(form.length < LONG ? asWord(form) : new RegExp(escaped(form), 'g'), '***');
    }
  }
  // A server repeats what it does not understand: AUTH and HELLO where they are renamed or not known.
  return withoutLogin(clean).replace(/(with args beginning with:).*/g, '$1 ***');
}

function* knownSecrets(): Iterable<string> {
  for (const reference of owners) {
    const owner = reference.deref();
    if (owner === undefined) owners.delete(reference);
    else yield* secretsIn(connections.get(owner));
  }
}

/** The secrets among options as they are now: those of a client may have been exchanged. */
function* secretsIn(options: unknown): Iterable<string> {
  if (typeof options === 'string') yield* secretsInUrl(options);
  if (Array.isArray(options)) {
    for (const each of options as unknown[]) yield* secretsIn(each);
    return;
  }
  if (typeof options !== 'object' || options === null || ArrayBuffer.isView(options)) return;
  for (const [name, value] of Object.entries(options)) {
    if (!NESTED_FIELDS.has(name)) continue;
    if (typeof value === 'object') yield* secretsIn(value);
    else if (SECRET_FIELDS.has(name) && (typeof value === 'string' || typeof value === 'number')) yield `${value}`;
  }
}

function* secretsInUrl(text: string): Iterable<string> {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) return;
  // A password alone is often written where the user belongs.
  const secret = url.password || url.username;
  if (secret !== '') yield decoded(secret);
  for (const name of SECRET_FIELDS) yield* url.searchParams.getAll(name);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');

const asWord = (text: string): RegExp => new RegExp(`(?<![\\p{L}\\p{N}])${escaped(text)}(?![\\p{L}\\p{N}])`, 'gu');
