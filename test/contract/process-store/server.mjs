// @ts-check
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { createMemoryStore } from 'nestjs-redis-locks/store';

/*
 * A server that keeps locks for other processes: one store for each connection, and JSON in lines. A request is
 * { number, method, args }, its reply { number, value } or { number, error }, and a message to the client { event, args }.
 */

/** @typedef {import('nestjs-redis-locks/store').LockStoreListener} LockStoreListener */

/** @param {unknown} error */
const written = (error) => {
  const { message, key, transient } = /** @type {{ message: string, key?: string, transient?: boolean }} */ (error);
  return { message, key, transient };
};

/** An error in a list stands for one failed lease. */
/** @param {unknown} value */
const asData = (value) =>
  Array.isArray(value) ? value.map((each) => (each instanceof Error ? { failed: written(each) } : each)) : value;

const server = createServer((socket) => {
  const store = createMemoryStore({ keyPrefix: 'process-store' });
  /** @param {object} line */
  const send = (line) => void socket.write(`${JSON.stringify(line)}\n`);
  /** @param {keyof LockStoreListener} event */
  const forward =
    (event) =>
    /** @param {unknown[]} args */
    (...args) =>
      send({ event, args });
  store.listen({
    granted: forward('granted'),
    retryAfter: forward('retryAfter'),
    yield: forward('yield'),
    revoked: forward('revoked'),
    opened: forward('opened'),
    restored: forward('restored'),
  });
  send({ event: 'hello', args: [store.clientId] });
  const lines = createInterface(socket);
  // A client that goes away with messages unread resets its connection.
  lines.on('error', () => undefined);
  lines.on('line', (line) => {
    const { number, method, args } = JSON.parse(line);
    // `latches.count`: a method of a part of the store.
    const names = method.split('.');
    const name = names.pop();
    const target = names.reduce((/** @type {any} */ part, /** @type {string} */ each) => part[each], store);
    // JSON has no `undefined`.
    target[name](...args.map((/** @type {unknown} */ each) => each ?? undefined)).then(
      (/** @type {unknown} */ value) => send({ number, value: asData(value) }),
      (/** @type {unknown} */ error) => send({ number, error: written(error) }),
    );
  });
  socket.on('error', () => undefined);
  socket.on('close', () => void store.close());
});

server.listen(0, '127.0.0.1', () => process.send?.(server.address()));
process.on('disconnect', () => process.exit());
