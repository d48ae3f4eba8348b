/** A line of the library, and what it is made of. */
export interface Mutation {
  readonly name: string;
  readonly file: string;
  readonly topology: string;
  readonly from: string;
  readonly to: string;
}

export declare const MUTATIONS: readonly Mutation[];
