import type { Mutation } from './mutations.mjs';

export interface Mutant {
  /** The directory of the library that can be loaded. */
  readonly url: string;
  remove(): void;
}

export declare function buildMutant(mutation: Mutation | undefined): Promise<Mutant>;
