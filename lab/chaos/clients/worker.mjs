// A client process: a lock service of the built library, callers that lock as their seed says, and a pulse. It ends on
// request, when it is killed, or with the process that started it.
import { clockSince } from '../../testbed/history/clock.mjs';
import { withNodeRedis } from '../../testbed/locks/node-redis-clients.mjs';
import { serve } from '../../testbed/workers/worker-kit.mjs';
import { MUTATION } from '../../mutations/list.mjs';
import { HistoryWriter } from '../history/writer.mjs';
import { performLast, planOperations } from '../schedule/operations.mjs';
import { createLockService, resolveModuleOptions } from './library.mjs';
import { Random } from '../schedule/random.mjs';
import { LatchLoop } from './latches.mjs';
import { Counters } from './counters.mjs';
import { Operations } from './operations.mjs';
import { ownIoredis, ownNodeRedis } from './own-client.mjs';
import { Pulse } from './pulse.mjs';
import { watchForStalls } from './stalls.mjs';

const silent = { debug() {}, log() {}, warn() {}, error() {} };

let service;
let own;
let operations;
let pulse;
let latches;
let resign;
let history;
let running = [];
let stopped = false;

function* lengthsOfTerms(random) {
  for (;;) yield random.chance(0.7) ? random.between(0, 200) : random.between(200, 3_000);
}

serve({
  async start(settings) {
    const { options, client, origin, file, seed, keys, kinds, holders, loops, crown, gate, counters } = settings;
    const now = clockSince(BigInt(origin));
    history = new HistoryWriter(file, now, { client });
    const escaped = (what) => (error) => history.note('surprise', { text: `${what}: ${error?.stack ?? error}` });
    process.on('unhandledRejection', escaped('unhandled rejection'));
    process.on('uncaughtException', escaped('uncaught exception'));
    watchForStalls(history, now);
    const given = settings.isNodeRedis ? withNodeRedis(options.connection) : options.connection;
    if (settings.lendsClients) own = settings.isNodeRedis ? ownNodeRedis(given) : ownIoredis(given);
    const connection = own?.client ?? given;
    service = createLockService(resolveModuleOptions({ shutdownTimeout: 0, ...options, connection }), silent);
    await service.start().catch((error) => {
      // It continues to connect: a client may well be started while Redis is away.
      if (error.code !== 'LOCK_STORE') throw error;
    });
    history.note('up', { mutation: globalThis[MUTATION] });
    const counter = counters === undefined ? undefined : new Counters(counters, history);
    operations = new Operations({ service, history, now, client, counters: counter });
    pulse = new Pulse({ service, history, now, client });
    resign = operations.stand(crown, lengthsOfTerms(new Random(seed, `${client}/terms`)));
    if (gate !== undefined) latches = new LatchLoop({ service, history, client, seed, key: gate });
    running = Array.from({ length: loops }, async (_, loop) => {
      for (const operation of planOperations({ seed, client, loop, keys, kinds, holders })) {
        if (stopped) return;
        await operations.perform(operation);
      }
    });
  },

  /** Does nothing for `ms`, not even listening: as a long computation, without its heat. */
  async block(ms) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  },

  /** Ends all operations, and then acquires each key within `wait` ms: without faults that must be possible. */
  async finish(keys, wait, kinds) {
    stopped = true;
    await Promise.all([...running, resign(), latches?.stop()]);
    await Promise.all(keys.map((key) => performLast(key, kinds, wait, (last) => operations.perform(last))));
    // Last, so that it still tells of the last faults.
    await pulse.stop();
  },

  /** Uses the client that was passed to the module. */
  async useOwnClient(how) {
    await own.use(how);
  },

  async close() {
    await service.close();
    own?.close();
  },
});
