import { expect } from '@jest/globals';

/** What an error has to be: its code, a part or a pattern of its message, and further properties. */
export const lockError = (code: `LOCK_${string}`, message: string | RegExp, more: object = {}): any =>
  expect.objectContaining({
    ...{
      code,
      message: typeof message === 'string' ? expect.stringContaining(message) : expect.stringMatching(message),
    },
    ...more,
  });
