import { withoutLogin } from '../../common/credentials.js';

/** The fields of ioredis' and Node's options that contain secrets. */
const SECRET_FIELDS: ReadonlySet<string> = new Set([
  'password',
  'sentinelPassword',
  'passphrase',
  'key',
  'pem',
  'pfx',
  'buf',
]);
/** The fields that contain further options. */
const NESTED_FIELDS: ReadonlySet<string> = new Set([
  ...['options', 'socket', 'redisOptions', 'tls', 'sentinelTLS', 'cluster', 'startupNodes', 'nodeTLS'],
  ...['_options', 'defaults', 'rootNodes'],
  ...SECRET_FIELDS,
]);

/** A shorter secret, or one of a few more lower-case letters only, may be an ordinary word. */
const LONG = 8;
const WORD = /^[a-z]{1,11}$/;

/** Replies to a refused login that never repeat what the client sent. */
const KNOWN_ANSWER = /^(?:WRONGPASS|NOAUTH|NOPERM|ERR invalid password)\b/;

/** The owners of all connections in use. */
const owners = new Set<WeakRef<object>>();
/** By owner: a URL, options, or a client, whose options may change. */
const connections = new WeakMap<object, unknown>();

/** Removes the credentials of a connection from the messages of all foreign errors, as long as its owner is alive. */
export function guardCredentials(owner: object, connection: unknown): void {
  connections.set(owner, connection);
  owners.add(new WeakRef(owner));
}

/**
 * Returns a message of a server, of ioredis or of Node without credentials. A secret that is an ordinary word is
 * removed only where it is quoted: a gap in a well-known text would reveal it.
 * @param sent arguments of the command that the message answers. The message may repeat them without quotes.
 */
export function withoutCredentials(text: string, sent: readonly string[] = []): string {
  let clean = text;
  for (const secret of new Set([...sent, ...knownSecrets()])) {
    const isRepeated = sent.includes(secret) && !KNOWN_ANSWER.test(text);
    for (const form of formsOf(secret)) clean = clean.replace(whereIs(secret, form, isRepeated), '***');
  }
  // A server repeats a command that it does not know: AUTH and HELLO, if they are renamed or not supported.
  return withoutLogin(clean).replace(/(with args beginning with:).*/g, '$1 ***');
}

/**
 * The forms in which a secret may appear: as it is, in a URL, in a query, and in JSON. The longest form comes first.
 */
function formsOf(secret: string): Set<string> {
  // A lone surrogate cannot be encoded.
  const whole = secret.replace(/\p{Cs}/gu, '\ufffd');
  const encoded = encodeURIComponent(whole);
  return new Set([encoded.replaceAll('%20', '+'), encoded, JSON.stringify(secret).slice(1, -1), secret, whole]);
}

function whereIs(secret: string, form: string, isRepeated: boolean): RegExp {
  if (secret.length >= LONG && !WORD.test(secret)) return new RegExp(escaped(form), 'g');
  const quoted = `(?<=["'\`=])${escaped(form)}(?=["'\`,;&)\\]}\\s]|$)`;
  const asWord = `(?<![\\p{L}\\p{N}])${escaped(form)}(?![\\p{L}\\p{N}])`;
  return new RegExp(isRepeated ? asWord : quoted, 'gu');
}

function* knownSecrets(): Iterable<string> {
  for (const reference of owners) {
    const owner = reference.deref();
    if (owner === undefined) owners.delete(reference);
    else yield* secretsIn(connections.get(owner), new Set());
  }
}

/** The secrets in the current options. Those of a client may have been replaced. */
function* secretsIn(options: unknown, seen: Set<object>): Iterable<string> {
  if (typeof options === 'string') yield* secretsInUrl(options);
  if (typeof options !== 'object' || options === null || ArrayBuffer.isView(options) || seen.has(options)) return;
  seen.add(options);
  if (Array.isArray(options)) {
    for (const each of options as unknown[]) yield* secretsIn(each, seen);
    return;
  }
  for (const name of NESTED_FIELDS) {
    const value = valueOf(options, name);
    if (typeof value === 'object') yield* secretsIn(value, seen);
    else if (SECRET_FIELDS.has(name) && (typeof value === 'string' || typeof value === 'number') && value !== '') {
      yield `${value}`;
    }
  }
}

/** Reads a field as Node would, so a getter is called. */
function valueOf(options: object, name: string): unknown {
  try {
    return (options as Record<string, unknown>)[name];
  } catch {
    return undefined;
  }
}

function* secretsInUrl(text: string): Iterable<string> {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) return;
  // A password without a user is often written in the place of the user.
  const secret = url.password || url.username;
  if (secret !== '') yield decoded(secret);
  for (const name of SECRET_FIELDS) yield* url.searchParams.getAll(name).filter((value) => value !== '');
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
