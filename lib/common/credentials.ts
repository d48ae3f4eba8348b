/** For messages: a text without the user and the password of a URL in it. */
export const withoutLogin = (text: string): string =>
  text.includes('://') ? text.split('\n').map(lineWithoutLogin).join('\n') : text;

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

/** Whether a text is where Redis is, and not a name, a key or a length of time. */
export const isRedisUrl = (text: string): boolean => /^\s*rediss?:\/\//i.test(text);
