/** A decoded value. Maps come as `Map`, sets and pushes as arrays, errors as `Error`, big numbers as `bigint`. */
export type RespValue = string | number | bigint | boolean | null | Error | RespValue[] | Map<RespValue, RespValue>;

/** One complete message as it stood on the wire: a command, a reply or a push. */
export interface RespFrame {
  /** The first byte of the message itself, after attributes: `*`, `$`, `+`, `>` … or `inline`. */
  readonly type: string;
  readonly value: RespValue;
  readonly raw: Buffer;
}

interface Parsed {
  type: string;
  value: RespValue;
  end: number;
}

const CRLF = '\r\n';

/** Cuts a stream of RESP2 or RESP3 into its messages. */
export class RespReader {
  private rest: Buffer = Buffer.alloc(0);

  /** @param side clients may also send inline commands, a line of words */
  constructor(private readonly side: 'client' | 'server') {}

  /** The messages that `chunk` completes. */
  push(chunk: Buffer): RespFrame[] {
    this.rest = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    const frames: RespFrame[] = [];
    let start = 0;
    for (;;) {
      const parsed = this.parseMessage(start);
      if (parsed === undefined) break;
      const { type, value, end } = parsed;
      frames.push({ type, value, raw: this.rest.subarray(start, end) });
      start = end;
    }
    this.rest = this.rest.subarray(start);
    return frames;
  }

  private parseMessage(start: number): Parsed | undefined {
    if (start >= this.rest.length) return undefined;
    return this.side === 'client' && this.rest[start] !== '*'.charCodeAt(0)
      ? this.parseInline(start)
      : parse(this.rest, start);
  }

  private parseInline(start: number): Parsed | undefined {
    const newline = this.rest.indexOf('\n', start);
    if (newline === -1) return undefined;
    const words = this.rest.toString('utf8', start, newline).split(/\s+/).filter(Boolean);
    return { type: 'inline', value: words, end: newline + 1 };
  }
}

/** The value at `start`; `undefined` while it is incomplete. */
function parse(buffer: Buffer, start: number): Parsed | undefined {
  const lineEnd = buffer.indexOf(CRLF, start);
  if (lineEnd === -1) return undefined;
  const type = String.fromCharCode(buffer[start] ?? 0);
  const line = buffer.toString('utf8', start + 1, lineEnd);
  const end = lineEnd + CRLF.length;
  switch (type) {
    case '+':
      return { type, value: line, end };
    case '-':
      return { type, value: new Error(line), end };
    case ':':
    case ',':
      return {
        type,
        value: line.startsWith('inf') ? Infinity : line.startsWith('-inf') ? -Infinity : Number(line),
        end,
      };
    case '(':
      return { type, value: BigInt(line), end };
    case '#':
      return { type, value: line === 't', end };
    case '_':
      return { type, value: null, end };
    case '$':
    case '!':
    case '=':
      return parseBulk(buffer, type, Number(line), end);
    case '*':
    case '~':
    case '>':
      return parseItems(buffer, type, Number(line), end);
    case '%':
      return parseMap(buffer, type, Number(line), end);
    case '|': {
      // Attributes stand before the value that they describe.
      const attributes = parseMap(buffer, type, Number(line), end);
      return attributes && parse(buffer, attributes.end);
    }
    default:
      throw new Error(`RESP: no message starts with ${JSON.stringify(type + line)}`);
  }
}

function parseBulk(buffer: Buffer, type: string, length: number, start: number): Parsed | undefined {
  if (length === -1) return { type, value: null, end: start };
  // Redis never sends streamed strings (`$?`), and clients must not.
  if (!Number.isInteger(length)) throw new Error(`RESP: a string of length ${length}`);
  const end = start + length + CRLF.length;
  if (buffer.length < end) return undefined;
  const text = buffer.toString('utf8', start, start + length);
  // A verbatim string says its format first: `txt:`.
  return { type, value: type === '!' ? new Error(text) : type === '=' ? text.slice(4) : text, end };
}

function parseItems(buffer: Buffer, type: string, count: number, start: number): Parsed | undefined {
  if (count === -1) return { type, value: null, end: start };
  if (!Number.isInteger(count)) throw new Error(`RESP: an aggregate of ${count} items`);
  const items: RespValue[] = [];
  let end = start;
  for (let i = 0; i < count; i++) {
    const item = end < buffer.length ? parse(buffer, end) : undefined;
    if (item === undefined) return undefined;
    items.push(item.value);
    ({ end } = item);
  }
  return { type, value: items, end };
}

function parseMap(buffer: Buffer, type: string, count: number, start: number): Parsed | undefined {
  const items = parseItems(buffer, type, count * 2, start);
  if (items === undefined) return undefined;
  const flat = items.value as RespValue[];
  const map = new Map<RespValue, RespValue>();
  for (let i = 0; i < flat.length; i += 2) map.set(flat[i] ?? null, flat[i + 1] ?? null);
  return { type, value: map, end: items.end };
}
