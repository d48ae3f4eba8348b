/** For messages: removes the user and the password of each URL from a text. */
export function withoutLogin(text: string): string {
  if (!text.includes('://')) return text;
  return text.split('\n').map(lineWithoutLogin).join('\n').replace(SECRET_PARAMETER, '$1***');
}

/** The secret query parameters that ioredis reads. */
const SECRET_PARAMETER = /([?&](?:password|sentinelPassword|passphrase)=)[^&#\s"'`]*/gi;

/**
 * Removes the login up to the last `@` of a line. An `@` that should have been percent-encoded belongs to the password, and
 * so does every other character that a URL cannot contain. No regular expression does this in linear time.
 */
function lineWithoutLogin(line: string): string {
  const end = line.lastIndexOf('@');
  for (let at = line.indexOf('://'); at >= 0 && at < end; at = line.indexOf('://', at + 3)) {
    // Lines of a stack trace: names of packages contain an @.
    if (/file$/i.test(line.slice(Math.max(0, at - 4), at))) continue;
    return `${line.slice(0, at + 3)}***${line.slice(end)}`;
  }
  return line;
}

/** An address without a scheme: `user:password@host:6379/0`. */
const BARE_LOGIN = /^[^\s:@/]*:[^\s@]+@(?=[\w.-]+:\d{1,5}(?:\/\d*)?$)/;
/** Options of ioredis, one object or several. A key with a hash tag begins in the same way. */
const LIKE_JSON = /^\s*(?:\[\s*)?\{/;
/** A secret option that cannot be part of a key. */
const SECRET_OPTION = /[{,]\s*["']?(?:sentinelPassword|password|passphrase)["']?\s*[:=]/i;
/** `password: '…'` in JSON, even if a shell has removed its quotes. */
const NAMED_SECRET = /((?:password|passphrase)\\?["']?\s{0,9}[:=]\s{0,9})(?:(\\?["'])[^"'\\]*|[^\s,;}\]&"']+)/gi;

/** For messages: removes the password from a text that may be a connection in the wrong place. */
export function withoutSecret(text: string): string {
  const clean = withoutLogin(text).replace(BARE_LOGIN, '***@');
  return LIKE_JSON.test(clean) ? clean.replace(NAMED_SECRET, '$1$2***') : clean;
}

/** Whether a text is the URL of a Redis, and not a name, a key or a duration. */
export const isRedisUrl = (text: string): boolean => /^\s*rediss?:\/\//i.test(text);

/** Whether a text may be a connection: a URL anywhere in it, or options as JSON. */
export const mayBeConnection = (text: string): boolean =>
  /(?:rediss?|valkeys?|unix|redis-sentinel|redis-socket)(?:\+\w+)?:\/\//i.test(text) ||
  (LIKE_JSON.test(text) && (/^\s*\{"/.test(text) || SECRET_OPTION.test(text)));

/** Whether a text is an address, and so cannot be a name. */
export const isAddress = (text: string): boolean => text.includes('://') || BARE_LOGIN.test(text);
