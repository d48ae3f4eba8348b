/**
 * Makes a script a worker that a test talks to through `processes.ts`: every call of the test runs one of `methods`,
 * with the call's arguments; what it returns, or throws, goes back.
 */
export function serve(methods) {
  process.on('message', async ({ id, method, args = [] }) => {
    try {
      if (!Object.hasOwn(methods, method)) throw new Error(`the worker has no method "${method}"`);
      const result = await methods[method](...args);
      if (id !== undefined) process.send({ id, result });
    } catch (error) {
      process.send(id === undefined ? { event: 'failed', method, error: plain(error) } : { id, error: plain(error) });
    }
  });
  // The test process is gone.
  process.on('disconnect', () => process.exit());
  tell('ready');
}

/** Tells the test of something that it has not asked for. */
export function tell(event, details = {}) {
  process.send({ event, ...details });
}

/** Between processes errors lose all but their message: this keeps what tests look at. */
function plain(error) {
  const { name, message, code, key, stack } = Object(error);
  return { name, message, code, key, stack };
}

/** Starts a service whose `commandTimeout` may be too short to connect on a busy machine: connecting goes on after that. */
export async function started(service) {
  for (let tries = 1; ; tries++) {
    try {
      return await service.start();
    } catch (error) {
      if (tries === 20 || !/could not be reached within/.test(error.message)) throw error;
    }
  }
}
