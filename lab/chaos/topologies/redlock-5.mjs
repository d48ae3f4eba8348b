import { startMasters } from './redlock.mjs';

/** Five servers of their own: two of them may be away, and three are a majority. */
export const start = (options) => startMasters({ ...options, name: 'redlock-5', masters: 5 });
