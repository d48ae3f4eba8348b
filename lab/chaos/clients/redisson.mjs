import { setTimeout as sleep } from 'node:timers/promises';
import { RedissonProcess } from '../../testbed/workers/redisson-process.mjs';
import { performLast, planOperations } from '../schedule/operations.mjs';
import { AFTER_FAILURE } from './operations.mjs';
import { PULSE } from './pulse.mjs';

/** ms in which Redisson wants an answer: longer than any server is stopped. */
const TIMEOUT = 1_500;
/** ms between two pings: a connection that is gone without an end is noticed only by them. */
const PING = 1_000;
/** ms: `lock()` waits without a limit. */
const LONGEST_WAIT = 30_000;

/** A client process with Redisson on a JVM. It is used as the process of `worker.mjs` is, and its requests have the same plan. */
export class RedissonClient {
  #version;
  #at;
  #history;
  #java;
  #client;
  #count = 0;
  #stopped = false;
  #running = [];

  /** `at`: where Redisson finds Redis, as for `RedissonProcess`. */
  constructor({ version, at, history }) {
    this.#version = version;
    this.#at = at;
    this.#history = history;
  }

  get isRunning() {
    return this.#java?.isRunning ?? false;
  }

  call(method, ...args) {
    return this.#does[method](...args);
  }

  pause() {
    this.#java.pause();
  }

  resume() {
    this.#java.resume();
  }

  kill() {
    return this.#java?.kill();
  }

  #does = {
    start: async ({ options, client, origin, file, seed, keys, kinds, loops, counters }) => {
      this.#client = client;
      this.#java = await this.#startJava(options.renewedLease);
      await this.#java.on('main')('chaos.begin', client, origin, file, counters);
      this.#running = [
        this.#untilKilled(() => this.#beat()),
        ...Array.from({ length: loops }, (_, loop) =>
          this.#untilKilled(() => this.#loop(loop, planOperations({ seed, client, loop, keys, kinds }))),
        ),
      ];
    },
    finish: async (keys, wait, kinds) => {
      this.#stopped = true;
      await Promise.all(this.#running.slice(1));
      const perform = (key) => (last) => this.#perform(key, { ...last, through: 'tryLock' });
      await Promise.all(keys.map((key) => performLast(key, kinds, wait, perform(key))));
      await this.#running[0];
    },
    close: () => this.#java.kill(),
  };

  /** A JVM that does not reach Redis in time ends. */
  async #startJava(watchdog) {
    for (;;) {
      try {
        return await RedissonProcess.start(this.#version, this.#at, watchdog, { timeout: TIMEOUT, ping: PING });
      } catch (error) {
        if (!/RedisConnectionException|RedisTimeoutException/.test(error.message)) throw error;
      }
    }
  }

  async #untilKilled(work) {
    try {
      await work();
    } catch (error) {
      const text = String(error?.stack ?? error);
      if (this.isRunning) this.#history.note('surprise', { client: this.#client, text });
    }
  }

  async #beat() {
    const key = `pulse:${this.#client.split('.')[0]}`;
    let isLast = false;
    while (!isLast) {
      isLast = this.#stopped;
      await this.#java.on('pulse')('chaos.pulse', key, PULSE.lease);
      await sleep(PULSE.every);
    }
  }

  async #loop(loop, plans) {
    for (const plan of plans) {
      if (this.#stopped) return;
      const failed = await this.#perform(`loop${loop}`, plan);
      if (failed === 'LOCK_STORE') await sleep(AFTER_FAILURE);
      if (plan.pause > 0) await sleep(plan.pause);
    }
  }

  /** Answers with the code of an acquisition that failed. */
  #perform(thread, { keys, kind, through, wait, expire, length, step, final = false }) {
    const op = `${this.#client}.${++this.#count}`;
    // It has fewer methods: some become `lock()`.
    const method = through === 'run' && !final ? 'lock' : 'tryLock';
    const lease = expire === 0 ? -1 : expire;
    const terms = [method === 'lock' ? LONGEST_WAIT : wait, lease, length, step?.does ?? '-', final];
    return this.#java.on(thread)('chaos.section', keys[0], op, kind, method, ...terms);
  }
}
