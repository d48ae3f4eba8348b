/** The client that an application has passed as `connection` serves the application meanwhile. */
const inUse = (name, command) => ({
  name,
  strikes: 'client',
  plan: ({ random, clients }) => ({ client: random.among(clients), lasts: random.between(50, 1_500) }),
  begin({ clients }, { client }) {
    // The process may be stopped, or be killed meanwhile.
    const call = (...words) =>
      void clients
        .get(client)
        .call('useOwnClient', ...words)
        .catch(() => undefined);
    call(...command);
    return () => call('end');
  },
});

export const IN_ANOTHER_DATABASE = 'application in another database';

/** What an application does with the ioredis client that it has passed to the module. */
export const IN_APPLICATIONS = [inUse('application in MULTI', ['multi']), inUse(IN_ANOTHER_DATABASE, ['select'])];
