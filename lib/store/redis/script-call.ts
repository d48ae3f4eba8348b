import type { ScriptKeys } from './script-keys.js';

/** A call of a script, by its text or by its hash. */
export interface ScriptCall {
  readonly command: 'eval' | 'evalsha';
  readonly script: string;
  readonly keys: ScriptKeys;
  readonly args: ReadonlyArray<string | number>;
}

/** The arguments of `EVAL` and `EVALSHA`. */
export const allArgs = ({ script, keys, args }: ScriptCall): [string, number, ...Array<string | number>] => [
  script,
  keys.count,
  ...keys.names,
  ...args,
];
