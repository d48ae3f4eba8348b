import { describe, expect, it } from '@jest/globals';
import { describeApi, readSnapshot } from '../../scripts/api-snapshot.mjs';

describe('the public API', () => {
  it('is what docs/api.d.ts says (after a wanted change: npm run generate:api)', () => {
    expect(describeApi()).toBe(readSnapshot());
  });

  it('of nestjs-redis-locks/testing is what docs/api-testing.d.ts says', () => {
    expect(describeApi('testing')).toBe(readSnapshot('testing'));
  });
});
