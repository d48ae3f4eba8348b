import type * as Jest from '@jest/globals';

/** What Jest makes known in each spec. `jest` itself has to be imported: specs are ES modules. */
declare global {
  const afterAll: typeof Jest.afterAll;
  const afterEach: typeof Jest.afterEach;
  const beforeAll: typeof Jest.beforeAll;
  const beforeEach: typeof Jest.beforeEach;
  const describe: typeof Jest.describe;
  const expect: typeof Jest.expect;
  const it: typeof Jest.it;
}
