/** Heads of strings up to this length are built once: a command has fifteen strings, and most are short. */
const KNOWN_LENGTHS = 1_024;

const heads: string[] = [];

const buildHead = (bytes: number): string => `\r\n$${bytes}\r\n`;

const headOf = (bytes: number): string =>
  bytes < KNOWN_LENGTHS ? (heads[bytes] ??= buildHead(bytes)) : buildHead(bytes);

/**
 * Encodes a text as a bulk string of RESP. It begins with the line break that ends what stands before it, and has none at
 * its end, so that few strings have to be joined.
 */
export const bulk = (text: string): string => headOf(Buffer.byteLength(text)) + text;

/** Like `bulk`, for a text of ASCII. */
export const asciiBulk = (text: string): string => headOf(text.length) + text;

/** The start of a bulk string whose text begins with `start`, in ASCII, and has `bytes` bytes more. */
export const bulkStart = (start: string, bytes: number): string => headOf(start.length + bytes) + start;

/** Encodes a command: `parts` strings, encoded as `bulk` does. */
export const encodeCommand = (parts: number, encoded: string): string => `*${parts}${encoded}\r\n`;
