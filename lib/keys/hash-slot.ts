import { hashTag } from './lock-key.js';

/** How many slots a Redis Cluster has. */
const SLOTS = 16_384;

/** The slot of a key in a Redis Cluster, or of a channel of sharded pub/sub. */
export function hashSlot(name: string): number {
  return crc16(Buffer.from(hashTag(name))) % SLOTS;
}

/** CRC-16/XMODEM, as in the specification of Redis Cluster. */
function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc;
}

/** Groups items by the slots of their Redis keys. `nameOf`: names the Redis key of a key. */
export function groupBySlot<T extends { readonly key: string }>(
  items: readonly T[],
  nameOf: (key: string) => string,
): T[][] {
  const groups = new Map<number, T[]>();
  for (const item of items) {
    const slot = hashSlot(nameOf(item.key));
    const group = groups.get(slot);
    if (group === undefined) groups.set(slot, [item]);
    else group.push(item);
  }
  return [...groups.values()];
}
