/**
 * Milliseconds since `origin` (of `process.hrtime.bigint()`) on CLOCK_MONOTONIC, which all processes of a machine
 * share. Not `performance.now()`: that counts from the start of each process, and only the wall clock knows the start.
 */
export const clockSince = (origin) => () => Number(process.hrtime.bigint() - origin) / 1e6;
