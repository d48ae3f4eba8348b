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

/**
 * A server that a test has stopped, and a proxy that refuses, need their ports again. So each worker of Jest takes ports of
 * its own part of the range, and not the same ones again soon. Another run on this machine begins elsewhere.
 */
const PARTS = 8;
const PART = Math.floor((LAST_PORT - FIRST_PORT) / PARTS);
const { JEST_WORKER_ID = '0' } = process.env;
const BEGINNING = process.ppid * 7_919 + Number(JEST_WORKER_ID) * PART;
/** @type {number[]} */
const taken = [];
const REMEMBERED = PART / 2;

/** A port on which no process listens at the moment. */
export async function findFreePort() {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const port = FIRST_PORT + ((BEGINNING + Math.floor(Math.random() * PART)) % (LAST_PORT - FIRST_PORT));
    if (taken.includes(port) || !(await isFree(port))) continue;
    taken.push(port);
    if (taken.length > REMEMBERED) taken.shift();
    return port;
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
