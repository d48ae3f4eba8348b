// @ts-check
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Nothing in this project listens or dials anywhere else. */
export const HOST = '127.0.0.1';

/**
 * Below the range from which systems choose ports for outgoing connections, so that a server that restarts finds its
 * port still free; a Redis Cluster bus (port + 10000) stays below it, too.
 */
const FIRST_PORT = 15_000;
const LAST_PORT = 22_000;
const ATTEMPTS = 200;

/** A port on which no process listens at the moment. */
export async function findFreePort() {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT));
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port between ${FIRST_PORT} and ${LAST_PORT} on ${HOST}`);
}

/** @param {number} port */
async function isFree(port) {
  const server = createServer();
  try {
    server.listen({ host: HOST, port, exclusive: true });
    await once(server, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
}
