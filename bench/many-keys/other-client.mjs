// Another client that holds the keys, in a thread of its own: its work does not delay the event loop that is measured.
import { join } from 'node:path';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { Cluster, Redis } from 'ioredis';
import { assembleScript } from '../../scripts/lib/lua-source.mjs';
import { ROOT } from '../../scripts/lib/paths.mjs';

const LEASE = 3_600_000;
const AT_A_TIME = 500;
const PAUSE = 20;
const ROLES = ['state', 'queue', 'waiters', 'fence', 'tombstones', 'limit', 'ends'];
const ACQUIRE = ['h:1', 'exclusive', '', LEASE, 1, '0 0 3000 600000 3000 1'];
const RELEASE = ['h:1', '0 0 0'];

export class OtherClient {
  constructor(connection) {
    this.worker = new Worker(new URL(import.meta.url), { workerData: connection });
  }

  /** Acquires all keys. */
  hold(keys) {
    return this.#call('hold', keys);
  }

  release(keys) {
    return this.#call('release', keys);
  }

  /** Resolves when a client waits for each of the keys. */
  untilAllWait(keys) {
    return this.#call('untilAllWait', keys);
  }

  close() {
    return this.worker.terminate();
  }

  #call(method, keys) {
    return new Promise((resolve, reject) => {
      this.worker.once('error', reject);
      this.worker.once('message', ({ error }) => {
        this.worker.off('error', reject);
        if (error === undefined) resolve();
        else reject(new Error(error));
      });
      this.worker.postMessage({ method, keys });
    });
  }
}

if (!isMainThread) {
  const { cluster } = workerData;
  const client = cluster === undefined ? new Redis(workerData) : new Cluster(cluster);
  client.on('error', () => undefined);
  for (const name of ['acquire', 'release']) {
    client.defineCommand(name, { lua: assembleScript(join(ROOT, 'lua'), `${name}.lua`), numberOfKeys: ROLES.length });
  }
  const channels = (key) => (cluster === undefined ? 'lock:client:' : `lock:client:{${key}}:`);
  const redisKeys = (key) => ROLES.map((role) => `lock:${role}:{${key}}`);
  const run = (name, key, args) => client[name](...redisKeys(key), `${channels(key)}\n${key}`, ...args);
  const each = async (keys, task) => {
    const results = [];
    while (results.length < keys.length) {
      results.push(...(await Promise.all(keys.slice(results.length, results.length + AT_A_TIME).map(task))));
    }
    return results;
  };
  const methods = {
    hold: (keys) => each(keys, (key) => run('acquire', key, ACQUIRE)),
    release: (keys) => each(keys, (key) => run('release', key, RELEASE)),
    async untilAllWait(keys) {
      for (let left = keys; left.length > 0;) {
        const counts = await each(left, (key) => client.exists(`lock:queue:{${key}}`));
        left = left.filter((_, i) => counts[i] === 0);
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
      }
    },
  };
  parentPort.on('message', ({ method, keys }) => {
    methods[method](keys).then(
      () => parentPort.postMessage({}),
      (error) => parentPort.postMessage({ error: String(error) }),
    );
  });
}
