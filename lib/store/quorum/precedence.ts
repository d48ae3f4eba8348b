/**
 * Which of two acquisitions keeps its votes when neither has a majority. Every client comes to the same answer from the
 * ids alone, without a clock, and it is as good as drawn by lot: no client is always the first. Clients of all versions
 * have to agree on it.
 */
export function precedes(id: string, other: string): boolean {
  const [mine, theirs] = [lotOf(id), lotOf(other)];
  return mine === theirs ? id < other : mine < theirs;
}

/** FNV-1a, 32 bits. */
function lotOf(id: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < id.length; i += 1) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193);
  // Ids of a client differ in their last digits only, which are to change all of it.
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}
