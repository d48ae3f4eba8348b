import { describe, expect, it } from '@jest/globals';
import { describeApi, readSnapshot } from '../../scripts/api-snapshot.mjs';

describe('the public API', () => {
  it('matches docs/api.d.ts (after an intended change: npm run generate:api)', () => {
    expect(describeApi()).toBe(readSnapshot());
  });

  it.each(['client', 'store', 'testing', 'metrics', 'health', 'dashboard', 'redisson'] as const)(
    'of nestjs-redis-locks/%s matches its file in docs',
    (name) => {
      expect(describeApi(name)).toBe(readSnapshot(name));
    },
  );

  it('has no type without members, which every object would match', () => {
    expect(describeApi()).not.toMatch(/interface \w+ \{\s*\}/);
  });
});
