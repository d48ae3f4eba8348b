// @ts-check

/**
 * Milliseconds since `origin` (of `process.hrtime.bigint()`) on CLOCK_MONOTONIC, which all processes of a machine
 * share. Not `performance.now()`: that counts from the start of each process, and only the wall clock knows the start.
 * @param {bigint} origin
 */
export const clockSince = (origin) => () => Number(process.hrtime.bigint() - origin) / 1e6;

/** The same since some moment in the past. */
export const now = clockSince(0n);
