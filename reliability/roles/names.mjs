/** All locks that are measured are in one slot of a Cluster, so that one fault is everybody's. */
export const TAG = 'reliability';

export const nameOf = (role) => `${role}:{${TAG}}`;
