import { parentPort } from 'node:worker_threads';

/** Makes a file a thread whose methods others call through Thread (see threads.mjs). */
export function serve(methods) {
  parentPort.on('message', async ({ id, method, args }) => {
    try {
      parentPort.postMessage({ id, result: await methods[method](...args) });
    } catch (error) {
      parentPort.postMessage({ id, error: { name: error?.name, message: error?.message, stack: error?.stack } });
    }
  });
}
