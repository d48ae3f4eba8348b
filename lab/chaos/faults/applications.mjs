import { callOf, ofClient } from './processes.mjs';

/** The client that an application has passed as `connection` serves the application meanwhile. */
const inUse = (name, command) => ({
  name,
  strikes: 'client',
  plan: ofClient(50, 1_500),
  begin(world, { client }) {
    callOf(world, client, 'useOwnClient', command);
    return () => callOf(world, client, 'useOwnClient', 'end');
  },
});

export const IN_ANOTHER_DATABASE = 'application in another database';

/** What an application does with the ioredis client that it has passed to the module. */
export const IN_APPLICATIONS = [inUse('application in MULTI', 'multi'), inUse(IN_ANOTHER_DATABASE, 'select')];
