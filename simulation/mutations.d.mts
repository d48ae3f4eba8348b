export interface Mutation {
  readonly name: string;
  /** For people: what the library does then. */
  readonly what: string;
  /** From the project's root. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

export declare const MUTATION_VARIABLE: string;
export declare const MUTATIONS: readonly Mutation[];
export declare const BREAKAGES: readonly Mutation[];
export declare function findMutation(name: string): Mutation | undefined;
export declare function mutate(text: string, mutation: Mutation): string;
