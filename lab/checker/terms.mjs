/** The same for all lives of a client: `c1.2` is the second life of `c1`. */
export const laneOf = ({ client = '' }) => client.split('.')[0];

/** ms; a history of an older run does not say it. */
export const commandTimeoutOf = ({ commandTimeout = 700 }) => commandTimeout;
