import { DATA } from './data.mjs';
import { NETWORK } from './network.mjs';
import { PROCESSES } from './processes.mjs';
import { SERVERS } from './servers.mjs';

/**
 * A kind of fault: `plan` draws the decisions of the seed (the target, how long it `lasts`), `begin` starts it and
 * returns how to undo it, if that is necessary. A fault that breaks a presumption of the docs names it in `breaks`.
 */
const striking = (strikes, kinds) => kinds.map((kind) => ({ strikes, ...kind }));

/**
 * Faults of servers and clients of every kind.
 * @type {ReadonlyArray<{ readonly name: string, readonly breaks?: string }>}
 */
export const EVERYWHERE = [
  ...striking('client', PROCESSES),
  ...striking('server', SERVERS),
  ...striking('network', NETWORK),
  ...striking('data', DATA),
];
