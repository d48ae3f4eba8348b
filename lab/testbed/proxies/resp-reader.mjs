// @ts-check

/**
 * A decoded value. Maps come as `Map`, sets and pushes as arrays, errors as `Error`, big numbers as `bigint`.
 * @typedef {string | number | bigint | boolean | null | Error | RespItems | RespMap} RespValue
 *
 * @typedef {RespValue[]} RespItems
 *
 * @typedef {Map<RespValue, RespValue>} RespMap
 *
 * @typedef {object} RespFrame One complete message as it stood on the wire: a command, a reply or a push
 * @property {string} type the first byte of the message itself, after attributes: `*`, `$`, `+`, `>` … or `inline`
 * @property {RespValue} value
 * @property {Buffer} raw
 *
 * @typedef {{ type: string, value: RespValue, end: number }} Parsed
 */

const CRLF = '\r\n';

/** Cuts a stream of RESP2 or RESP3 into its messages. */
export class RespReader {
  /** @type {Buffer} */
  #rest = Buffer.alloc(0);
  #side;

  /** @param {'client' | 'server'} side clients may also send inline commands, a line of words */
  constructor(side) {
    this.#side = side;
  }

  /**
   * The messages that `chunk` completes.
   * @param {Buffer} chunk
   */
  push(chunk) {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    /** @type {RespFrame[]} */
    const frames = [];
    let start = 0;
    for (;;) {
      const parsed = this.#parseMessage(start);
      if (parsed === undefined) break;
      const { type, value, end } = parsed;
      frames.push({ type, value, raw: this.#rest.subarray(start, end) });
      start = end;
    }
    this.#rest = this.#rest.subarray(start);
    return frames;
  }

  /**
   * @param {number} start
   * @returns {Parsed | undefined}
   */
  #parseMessage(start) {
    if (start >= this.#rest.length) return undefined;
    return this.#side === 'client' && this.#rest[start] !== '*'.charCodeAt(0)
      ? this.#parseInline(start)
      : parse(this.#rest, start);
  }

  /** @param {number} start */
  #parseInline(start) {
    const newline = this.#rest.indexOf('\n', start);
    if (newline === -1) return undefined;
    const words = this.#rest.toString('utf8', start, newline).split(/\s+/).filter(Boolean);
    return { type: 'inline', value: words, end: newline + 1 };
  }
}

/**
 * The value at `start`; `undefined` while it is incomplete.
 * @param {Buffer} buffer
 * @param {number} start
 * @returns {Parsed | undefined}
 */
function parse(buffer, start) {
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

/**
 * @param {Buffer} buffer
 * @param {string} type
 * @param {number} length
 * @param {number} start
 * @returns {Parsed | undefined}
 */
function parseBulk(buffer, type, length, start) {
  if (length === -1) return { type, value: null, end: start };
  // Redis never sends streamed strings (`$?`), and clients must not.
  if (!Number.isInteger(length)) throw new Error(`RESP: a string of length ${length}`);
  const end = start + length + CRLF.length;
  if (buffer.length < end) return undefined;
  const text = buffer.toString('utf8', start, start + length);
  // A verbatim string says its format first: `txt:`.
  return { type, value: type === '!' ? new Error(text) : type === '=' ? text.slice(4) : text, end };
}

/**
 * @param {Buffer} buffer
 * @param {string} type
 * @param {number} count
 * @param {number} start
 * @returns {Parsed | undefined}
 */
function parseItems(buffer, type, count, start) {
  if (count === -1) return { type, value: null, end: start };
  if (!Number.isInteger(count)) throw new Error(`RESP: an aggregate of ${count} items`);
  /** @type {RespValue[]} */
  const items = [];
  let end = start;
  for (let i = 0; i < count; i++) {
    const item = end < buffer.length ? parse(buffer, end) : undefined;
    if (item === undefined) return undefined;
    items.push(item.value);
    ({ end } = item);
  }
  return { type, value: items, end };
}

/**
 * @param {Buffer} buffer
 * @param {string} type
 * @param {number} count
 * @param {number} start
 * @returns {Parsed | undefined}
 */
function parseMap(buffer, type, count, start) {
  const items = parseItems(buffer, type, count * 2, start);
  if (items === undefined) return undefined;
  const flat = /** @type {RespValue[]} */ (items.value);
  /** @type {Map<RespValue, RespValue>} */
  const map = new Map();
  for (let i = 0; i < flat.length; i += 2) map.set(flat[i] ?? null, flat[i + 1] ?? null);
  return { type, value: map, end: items.end };
}

/**
 * A command as clients send it.
 * @param {readonly string[]} words
 */
export const encodeCommand = (words) =>
  Buffer.from(`*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`);
