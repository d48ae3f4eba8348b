/** All measured locks are in one slot of a Cluster, so that one fault affects all of them. */
export const TAG = 'reliability';

export const nameOf = (role) => `${role}:{${TAG}}`;
