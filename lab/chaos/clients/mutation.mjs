/** This variable tells processes from which directory to load the library; without it they load the built one. */
export const LIBRARY_VARIABLE = 'CHAOS_LIBRARY';

/** A library with a mutation in it says under this global name which one, from the file that has it. */
export const MUTATION = 'locksMutation';
