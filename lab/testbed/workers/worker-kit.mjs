// @ts-check
import { parentPort } from 'node:worker_threads';

/**
 * Makes a script a worker, a process (see `processes.mjs`) or a thread: every call of the other side runs one of
 * `methods`, with the call's arguments; its return value, or its error, is the answer.
 * @param {Record<string, (...args: any[]) => unknown>} methods
 */
export function serve(methods) {
  const answer = async (/** @type {{ id?: number, method: string, args?: unknown[] }} */ { id, method, args = [] }) => {
    try {
      const called = Object.hasOwn(methods, method) ? methods[method] : undefined;
      if (called === undefined) throw new Error(`the worker has no method "${method}"`);
      const result = await called.apply(methods, args);
      if (id !== undefined) send({ id, result });
    } catch (error) {
      send(id === undefined ? { event: 'failed', method, error: plain(error) } : { id, error: plain(error) });
    }
  };
  if (parentPort !== null) return void parentPort.on('message', answer);
  process.on('message', answer);
  // The process that started this one is gone.
  process.on('disconnect', () => process.exit());
  tell('ready');
}

/**
 * Tells the other side of something that it has not asked for. Resolves when the message is out.
 * @param {string} event
 * @param {object} [details]
 * @returns {Promise<void>}
 */
export const tell = (event, details = {}) => send({ event, ...details });

/** @param {object} message @returns {Promise<void>} */
function send(message) {
  return new Promise((resolve) => {
    if (parentPort === null) return void process.send?.(message, undefined, undefined, () => resolve());
    parentPort.postMessage(message);
    resolve();
  });
}

/**
 * Between processes errors lose all but their message: this keeps the fields that tests read.
 * @param {unknown} error
 */
function plain(error) {
  const { name, message, code, key, stack } = Object(error);
  return { name, message, code, key, stack };
}
