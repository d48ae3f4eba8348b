import { setTimeout as sleep } from 'node:timers/promises';
import { nameOf } from './names.mjs';
import { Pulse } from './pulse.mjs';

const PATIENT = { waitTimeout: '60s' };

/** Holds one lock all the time and verifies it. Acquires it again after a loss. */
export class Holder {
  /** When a hold was lost, by `performance.now()`. */
  losses = [];
  #service;
  #handle;

  constructor(service, control) {
    this.#service = service;
    this.pulse = new Pulse(() => this.#confirm(), { control });
  }

  async #confirm() {
    if (this.#handle?.isHeld) return this.#handle.verify();
    const handle = await this.#service.acquire(nameOf('held'), PATIENT);
    handle.signal.addEventListener('abort', () => this.losses.push(performance.now()), { once: true });
    this.#handle = handle;
    return undefined;
  }
}

/** Two clients that request the same key all the time: one waits while the other one holds it. */
export class Waiters {
  /** Violations: two valid holds at once, or a token that does not grow. */
  violations = [];
  #holding = new Set();
  #lastToken = 0;

  constructor(services, control) {
    this.pulses = services.map((service) => new Pulse(() => this.#pass(service), { control, pause: 1 }));
  }

  async #pass(service) {
    const handle = await service.acquire(nameOf('handed'), PATIENT);
    if ([...this.#holding].some((other) => other.isHeld)) this.violations.push('two hold the key');
    if (handle.fencingToken <= this.#lastToken) this.violations.push('a token that has not grown');
    this.#lastToken = handle.fencingToken;
    this.#holding.add(handle);
    try {
      await sleep(5);
      await handle.release();
    } finally {
      this.#holding.delete(handle);
    }
  }
}

/** Acquires and releases a lock without contention. */
export class NewCaller {
  #count = 0;

  constructor(service, control) {
    const call = async () => {
      const handle = await service.acquire(nameOf(`new-${++this.#count}`), PATIENT);
      await handle.release();
    };
    this.pulse = new Pulse(call, { control });
  }
}
