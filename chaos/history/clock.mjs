/**
 * Milliseconds since `origin` (of `process.hrtime.bigint()`) on CLOCK_MONOTONIC, which all processes of a machine share.
 * Not `performance.now()`: that counts from the start of each process, and the start is known by the clock of the wall only.
 */
export const clockSince = (origin) => () => Number(process.hrtime.bigint() - origin) / 1e6;
