/** Reads a reply of Redis, as ioredis does. Each character of `wire` is one byte. */
export function readReply(wire: string): unknown {
  let place = 0;
  const next = (): unknown => {
    const end = wire.indexOf('\r\n', place);
    const type = wire[place];
    const head = wire.slice(place + 1, end);
    place = end + 2;
    if (type === ':') return Number(head);
    if (type === '+') return head;
    if (type === '-') return replyError(text(head));
    const size = Number(head);
    if (size < 0) return null;
    if (type === '*') return Array.from({ length: size }, next);
    place += size + 2;
    return text(wire.slice(place - size - 2, place - 2));
  };
  return next();
}

export function replyError(message: string): Error {
  const error = new Error(message);
  error.name = 'ReplyError';
  return error;
}

const text = (bytes: string): string => (/^[\0-\x7f]*$/.test(bytes) ? bytes : Buffer.from(bytes, 'latin1').toString());
