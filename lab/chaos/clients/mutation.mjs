/** This variable tells processes to run the library as it is written, with this mutation if it is not empty. */
export const MUTATION_VARIABLE = 'CHAOS_MUTATION';

/** The file that has the mutation says under this global name which one it is. */
export const MUTATION = 'locksMutation';
