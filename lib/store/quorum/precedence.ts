/**
 * Which of two acquisitions keeps its votes if neither has a majority. Every client computes the same order from the
 * ids alone, without a clock. It is as good as random: no client always comes first. Clients of all versions must agree
 * on it.
 */
export function precedes(id: string, other: string): boolean {
  const [mine, theirs] = [lotOf(id), lotOf(other)];
  return mine === theirs ? id < other : mine < theirs;
}

/** The FNV-1a hash of an id, 32 bits. */
function lotOf(id: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < id.length; i += 1) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193);
  // Ids of one client differ in their last digits only. These must affect all bits.
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}
