import { DATA } from './data.mjs';
import { NETWORK } from './network.mjs';
import { PROCESSES } from './processes.mjs';
import { SERVERS } from './servers.mjs';

/**
 * A kind of fault: `plan` draws what the seed decides (whom it strikes, how long it `lasts`), `begin` does it and answers
 * how it is undone, if it has to be. One that takes away what the docs presume says with `breaks` what that is.
 */
const striking = (strikes, kinds) => kinds.map((kind) => ({ strikes, ...kind }));

/**
 * What can be done to servers and clients of every kind.
 * @type {ReadonlyArray<{ readonly name: string, readonly breaks?: string }>}
 */
export const EVERYWHERE = [
  ...striking('client', PROCESSES),
  ...striking('server', SERVERS),
  ...striking('network', NETWORK),
  ...striking('data', DATA),
];
