/** How many slots a Redis Cluster has. */
const SLOTS = 16_384;

/** What decides the slot of a key: what stands in its first braces, if that is anything, or else all of it. */
export function hashTag(name: string): string {
  const open = name.indexOf('{');
  const close = open === -1 ? -1 : name.indexOf('}', open);
  return close > open + 1 ? name.slice(open + 1, close) : name;
}

/** The slot of a Redis Cluster in which a key is, or a channel of sharded pub/sub. */
export function hashSlot(name: string): number {
  return crc16(Buffer.from(hashTag(name))) % SLOTS;
}

/** CRC-16/XMODEM, as the specification of Redis Cluster has it. */
function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc;
}
