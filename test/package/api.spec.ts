import { describe, expect, it } from '@jest/globals';
import { describeApi, readSnapshot } from '../../scripts/api-snapshot.mjs';

describe('the public API', () => {
  it('is what docs/api.d.ts says (after a wanted change: npm run generate:api)', () => {
    expect(describeApi()).toBe(readSnapshot());
  });

  it.each(['testing', 'metrics', 'health', 'dashboard'] as const)(
    'of nestjs-redis-locks/%s is what docs says',
    (name) => {
      expect(describeApi(name)).toBe(readSnapshot(name));
    },
  );
});
