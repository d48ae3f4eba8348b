/** The prefix of all keys in a simulation. */
export const KEY_PREFIX = 'lock';
