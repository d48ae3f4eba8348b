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

/** A secret that is shorter, and one of small letters that is hardly longer, may be an ordinary word. */
const LONG = 8;
const WORD = /^[a-z]{1,11}$/;

/** What servers answer to a login that is refused, in words of their own alone. */
const KNOWN_ANSWER = /^(?:WRONGPASS|NOAUTH|NOPERM|ERR invalid password)\b/;

/** Whose connections are in use by now. */
const owners = new Set<WeakRef<object>>();
/** A URL, options, or a client, whose options may change. */
const connections = new WeakMap<object, unknown>();

/** Has the credentials of a connection taken out of the messages of all foreign errors, for as long as its owner lives. */
export function guardCredentials(owner: object, connection: unknown): void {
  connections.set(owner, connection);
  owners.add(new WeakRef(owner));
}

/**
 * A message of a server, of ioredis or of Node without the credentials in it. A secret that is an ordinary word is taken
 * out where it is quoted, since a hole in a text that everybody knows would tell it.
 * @param sent what a command sent that the message answers: it may be repeated without quotes
 */
export function withoutCredentials(text: string, sent: readonly string[] = []): string {
  let clean = text;
  for (const secret of new Set([...sent, ...knownSecrets()])) {
    const isRepeated = sent.includes(secret) && !KNOWN_ANSWER.test(text);
    for (const form of formsOf(secret)) clean = clean.replace(whereIs(secret, form, isRepeated), '***');
  }
  // A server repeats what it does not understand: AUTH and HELLO where they are renamed or not known.
  return withoutLogin(clean).replace(/(with args beginning with:).*/g, '$1 ***');
}

/** As it is, in a URL, in a query, and in JSON; the longest first. */
function formsOf(secret: string): Set<string> {
  // Half of a surrogate pair cannot be encoded.
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

/** The secrets among options as they are now: those of a client may have been exchanged. */
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

/** What Node reads there, too: of a getter what it makes. */
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
  // A password alone is often written where the user belongs.
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
