import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../schedule/random.mjs';

/** ms */
const WAIT = 6_000;
/** ms after which an earlier question has been answered, or given up and asked again. */
const BETWEEN = 150;
/** ms: a faster answer was not queued behind an abandoned command. */
const QUICK = 300;
/** ms for which a latch stays closed without a count-down: longer than any run. */
const EXPIRE = 3_600_000;

/** Closes a latch again and again, waits for it, counts it down, and records the outcomes. */
export class LatchLoop {
  #latch;
  #history;
  #client;
  #random;
  #count = 0;
  #stopped = new AbortController();
  #running;

  constructor({ service, history, client, seed, key }) {
    this.#latch = service.getCountDownLatch(key);
    this.#history = history;
    this.#client = client;
    this.#random = new Random(seed, `${client}/latch`);
    this.#running = this.#loop();
  }

  stop() {
    this.#stopped.abort();
    return this.#running;
  }

  async #loop() {
    const { signal } = this.#stopped;
    const waits = new Set();
    while (!signal.aborted) {
      // So many that a latch stays closed for some seconds: waiters are to see it closed when its data are lost.
      const count = this.#random.between(4, 10);
      await this.#note('set', () => this.#latch.trySetCount(count, { expire: EXPIRE }), { count });
      const wait = this.#note('await', () => this.#latch.await({ waitTimeout: WAIT, signal }));
      waits.add(wait);
      void wait.then(() => waits.delete(wait));
      await this.#noteSeen(`${this.#client}.${this.#count}`, wait);
      await sleep(this.#random.between(200, 3_000), undefined, { signal }).catch(() => undefined);
      await this.#note('count', () => this.#latch.countDown());
    }
    await Promise.all(waits);
    // Nothing may be left in Redis.
    for (let left = 1; left > 0;) left = Number(await this.#note('count', () => this.#latch.countDown())) || 0;
  }

  /**
   * Notes when a waiter must have seen the latch: commands are answered in their order, so its question was answered
   * before later ones. Another question may have been under way when the waiter came, so that its own was sent after
   * that.
   */
  async #noteSeen(id, wait) {
    let isOver = false;
    void wait.then(() => (isOver = true));
    for (let quick = 0; quick < 3 && !isOver;) {
      const sent = performance.now();
      const isAnswered = await this.#latch.getCount().then(
        () => true,
        () => false,
      );
      quick = isAnswered && performance.now() - sent < QUICK ? quick + 1 : 0;
      if (quick === 3 && !isOver) return this.#history.note('latch', { phase: 'seen', id });
      await sleep(BETWEEN);
    }
  }

  async #note(what, work, details) {
    const id = `${this.#client}.${++this.#count}`;
    this.#history.note('latch', { phase: 'begin', id, what, ...details });
    const outcome = await work().catch(({ name, code }) => (name === 'AbortError' ? 'ABORTED' : (code ?? name)));
    this.#history.note('latch', { phase: 'end', id, outcome });
    return outcome;
  }
}
