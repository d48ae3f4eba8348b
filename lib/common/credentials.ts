/** For messages: a text without the user and the password of a URL in it. */
export function withoutLogin(text: string): string {
  if (!text.includes('://')) return text;
  return text.split('\n').map(lineWithoutLogin).join('\n').replace(SECRET_PARAMETER, '$1***');
}

/** What ioredis reads from a query. */
const SECRET_PARAMETER = /([?&](?:password|sentinelPassword|passphrase)=)[^&#\s"'`]*/gi;

/**
 * A line, up to the last `@`: one that should have been percent-encoded belongs to the password, and so does everything else that
 * a URL could not have. No expression does that in a time that grows no faster than the text.
 */
function lineWithoutLogin(line: string): string {
  const end = line.lastIndexOf('@');
  for (let at = line.indexOf('://'); at >= 0 && at < end; at = line.indexOf('://', at + 3)) {
    // The lines of a stack: packages have an @ in their names.
    if (/file$/i.test(line.slice(Math.max(0, at - 4), at))) continue;
    return `${line.slice(0, at + 3)}***${line.slice(end)}`;
  }
  return line;
}

/** Where Redis is, without a scheme: `user:password@host:6379/0`. */
const BARE_LOGIN = /^[^\s:@/]*:[^\s@]+@(?=[\w.-]+:\d{1,5}(?:\/\d*)?$)/;
/** Options of ioredis, one or several; a key with a hash tag begins in the same way. */
const LIKE_JSON = /^\s*\[?\s*\{/;
/** An option that is secret, and no part of a key. */
const SECRET_OPTION = /[{,]\s*["']?(?:sentinelPassword|password|passphrase)["']?\s*[:=]/i;
/** `password: '…'` in JSON, or in what a shell has left of it. */
const NAMED_SECRET = /((?:password|passphrase)\\?["']?\s{0,9}[:=]\s{0,9})(?:(\\?["'])[^"'\\]*|[^\s,;}\]&"']+)/gi;

/** For messages: something that was written in a wrong place, and may be a connection, without its password. */
export function withoutSecret(text: string): string {
  const clean = withoutLogin(text).replace(BARE_LOGIN, '***@');
  return LIKE_JSON.test(clean) ? clean.replace(NAMED_SECRET, '$1$2***') : clean;
}

/** Whether a text is where Redis is, and not a name, a key or a length of time. */
export const isRedisUrl = (text: string): boolean => /^\s*rediss?:\/\//i.test(text);

/** Whether a text may be a connection, in whatever notation: a URL anywhere in it, or options as JSON. */
export const mayBeConnection = (text: string): boolean =>
  /(?:rediss?|valkeys?|unix|redis-sentinel|redis-socket)(?:\+\w+)?:\/\//i.test(text) ||
  (LIKE_JSON.test(text) && (/^\s*\{"/.test(text) || SECRET_OPTION.test(text)));

/** Whether a text can be no name, since it is where something is. */
export const isAddress = (text: string): boolean => text.includes('://') || BARE_LOGIN.test(text);
