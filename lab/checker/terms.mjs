/** The same for all lives of a client: `c1.2` is the second life of `c1`. */
export const laneOf = ({ client = '' }) => client.split('.')[0];

/** ms; a history of an older run does not say it. */
export const commandTimeoutOf = ({ commandTimeout = 700 }) => commandTimeout;

/**
 * ms between two moments in which the process of a client did not run.
 * @param {ReadonlyArray<{ client: string, from: number, to: number }>} stalls
 */
export const stalledFor = (stalls, lane, from, to) =>
  stalls
    .filter((stall) => laneOf(stall) === lane)
    .reduce((sum, stall) => sum + Math.max(0, Math.min(stall.to, to) - Math.max(stall.from, from)), 0);

/**
 * Whether holds of two kinds (`exclusive`, `read`, `permits`) exclude each other. Permits are counted, and holds of one owner
 * may share a key whatever their kinds.
 * @param {string} one
 * @param {string} other
 */
export const excludes = (one, other) => one === 'exclusive' || one !== other;
