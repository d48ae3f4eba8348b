import { describe, expect, it } from '@jest/globals';
import { precedes } from '../../../lib/store/quorum/split-votes.js';

const CLIENTS = ['4f1c', '9ab0', 'd377'];

describe('the precedence of acquisitions', () => {
  it('is a total order, the same for all clients', () => {
    const ids = CLIENTS.flatMap((client) => Array.from({ length: 30 }, (_, i) => `${client}:${i}`));
    const sorted = [...ids].sort((a, b) => (precedes(a, b) ? -1 : 1));
    for (let i = 0; i < sorted.length; i += 1) {
      for (let j = 0; j < sorted.length; j += 1) expect(precedes(sorted[i]!, sorted[j]!)).toBe(i < j);
    }
  });

  it('favours no client: each is first about as often', () => {
    const wins = new Map(CLIENTS.map((client) => [client, 0]));
    for (let i = 0; i < 3_000; i += 1) {
      const [first] = CLIENTS.map((client) => `${client}:${i}`).sort((a, b) => (precedes(a, b) ? -1 : 1));
      const client = first!.split(':')[0]!;
      wins.set(client, wins.get(client)! + 1);
    }
    for (const count of wins.values()) expect(Math.abs(count - 1_000)).toBeLessThan(150);
  });
});
