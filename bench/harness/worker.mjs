// A thread that stands for a process: it shares only SharedState with the others, and has its own connections.
import { Redis } from 'ioredis';
import { loadLibrary } from '../libraries/index.mjs';
import { LOOPS, warm } from './loops.mjs';
import { AttachedState } from './attached-state.mjs';
import { serve } from '../../lab/testbed/workers/worker-kit.mjs';
import { SharedState } from './shared-state.mjs';

let state;
let slot;
let client;
/** Clients that stay connected, by library and variant. */
const kept = new Map();
let loop;
let sent = 0;

// All commands that go through ioredis, on any connection.
const send = Redis.prototype.sendCommand;
Redis.prototype.sendCommand = function (...args) {
  count(1);
  return send.apply(this, args);
};

function count(n) {
  sent += n;
  state?.countCommands(slot, n);
}

const methods = {
  async open(terms) {
    slot = terms.slot;
    state = terms.state === undefined ? new SharedState(terms.buffer) : new AttachedState({ path: terms.state, slot });
    const { variants, open } = await loadLibrary(terms.library);
    const name = `${terms.library}, ${terms.variant}`;
    client = kept.get(name) ?? (await open({ connection: connectionTo(terms), ...variants[terms.variant] }));
    if (terms.keepsClient) kept.set(name, client);
  },

  async warm(terms) {
    await warm({ client, slot, ...terms });
  },

  /** Returns once the loop has started. */
  async begin(name, terms) {
    loop = LOOPS[name]({ client, state, slot, ...terms });
    loop.catch(() => undefined);
  },

  /** The results of the loop, once it is over. */
  async finish() {
    return loop;
  },

  async close() {
    if (![...kept.values()].includes(client)) await client?.close();
    client = undefined;
    // A command that ioredis sends later is not counted.
    state?.close();
    state = undefined;
  },

  /** The work of a scenario that measures in its own way: its module exports functions for that. */
  async work(module, name, terms) {
    const functions = await import(module);
    return functions[name]({ ...terms, connectionTo, loadLibrary, sent: () => sent });
  },

  async ready() {},
};

function connectionTo({ host = '127.0.0.1', port }) {
  return {
    url: `redis://${host}:${port}`,
    redis() {
      const redis = new Redis({ host, port, maxRetriesPerRequest: null });
      redis.on('error', () => undefined);
      return redis;
    },
    counted: count,
  };
}

serve(methods);
