// @ts-check

/**
 * A decoded value, as far as tests look at it: sets and pushes are lists, maps are lists of names and values, and numbers
 * other than integers are texts.
 * @typedef {string | number | null | Error | RespItems} RespValue
 *
 * @typedef {RespValue[]} RespItems
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
  #parse;

  /** @param {'client' | 'server'} side clients may also send inline commands, a line of words */
  constructor(side) {
    this.#parse = side === 'client' ? parseCommand : parse;
  }

  /**
   * The messages that `chunk` completes.
   * @param {Buffer} chunk
   */
  push(chunk) {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    /** @type {RespFrame[]} */
    const frames = [];
    let start = 0;
    for (let parsed = this.#parse(bytes, start); parsed !== undefined; parsed = this.#parse(bytes, start)) {
      const { type, value, end } = parsed;
      frames.push({ type, value, raw: bytes.subarray(start, end) });
      start = end;
    }
    this.#rest = bytes.subarray(start);
    return frames;
  }
}

/** @param {Buffer} buffer @param {number} start @returns {Parsed | undefined} */
function parseCommand(buffer, start) {
  if (start >= buffer.length || buffer[start] === '*'.charCodeAt(0)) return parse(buffer, start);
  const newline = buffer.indexOf('\n', start);
  if (newline === -1) return undefined;
  const words = buffer.toString('utf8', start, newline).split(/\s+/).filter(Boolean);
  return { type: 'inline', value: words, end: newline + 1 };
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
    case ',':
    case '(':
    case '#':
      return { type, value: line, end };
    case '-':
      return { type, value: replyError(line), end };
    case ':':
      return { type, value: Number(line), end };
    case '_':
      return { type, value: null, end };
    case '$':
    case '!':
    case '=':
      return parseText(buffer, type, sizeOf(line), end);
    case '*':
    case '~':
    case '>':
      return parseItems(buffer, type, sizeOf(line), end);
    case '%':
      return parseItems(buffer, type, 2 * sizeOf(line), end);
    case '|': {
      // Attributes stand before the value that they describe.
      const attributes = parseItems(buffer, type, 2 * sizeOf(line), end);
      return attributes && parse(buffer, attributes.end);
    }
    default:
      throw new Error(`RESP: no message starts with ${JSON.stringify(type + line)}`);
  }
}

/** Redis never sends streamed values (`$?`), and clients must not. @param {string} line */
function sizeOf(line) {
  const size = Number(line);
  if (!Number.isInteger(size)) throw new Error(`RESP: a value of size ${line}`);
  return size;
}

/**
 * @param {Buffer} buffer
 * @param {string} type
 * @param {number} length
 * @param {number} start
 * @returns {Parsed | undefined}
 */
function parseText(buffer, type, length, start) {
  if (length === -1) return { type, value: null, end: start };
  const end = start + length + CRLF.length;
  if (buffer.length < end) return undefined;
  const text = buffer.toString('utf8', start, start + length);
  return { type, value: type === '!' ? replyError(text) : text, end };
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
  /** @type {RespValue[]} */
  const items = [];
  let end = start;
  while (items.length < count) {
    const item = parse(buffer, end);
    if (item === undefined) return undefined;
    items.push(item.value);
    ({ end } = item);
  }
  return { type, value: items, end };
}

/** An error of a server, as the clients name it. @param {string} message */
export const replyError = (message) => Object.assign(new Error(message), { name: 'ReplyError' });

/**
 * A command as clients send it.
 * @param {readonly string[]} words
 */
export const encodeCommand = (words) =>
  Buffer.from(`*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`);
