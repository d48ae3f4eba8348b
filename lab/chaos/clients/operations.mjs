import { setTimeout as sleep } from 'node:timers/promises';
import { permitsOf } from '../schedule/operations.mjs';
import { ValidityLog } from './validity.mjs';
import { takers } from './takers.mjs';

/** How an acquisition may fail: the key was held, Redis failed, the caller gave up. */
const FAILURES = ['LOCK_TIMEOUT', 'LOCK_STORE', 'ABORTED'];
/** One of several keys may be lost while the caller waits for the others; and a lock, while it waits for replicas. */
const FAILURES_ON_THE_WAY = [...FAILURES, 'LOCK_LOST'];
/** ms after which a caller asks again if Redis is unreachable: that error may arrive at once. */
export const AFTER_FAILURE = 30;
/** The errors of holders whose call failed: the lock is gone, or Redis does not answer. */
const LOSSES = ['LOCK_LOST', 'LOCK_STORE', 'LOCK_NOT_HELD'];

/** ms: until it is asked to stop. */
const STANDS_FOR = 1e9;

const ABORTED = Object.assign(new Error('the caller gave up'), { code: 'ABORTED' });

/** Performs the operations of the schedule, through the library, and writes down how they went. */
export class Operations {
  #service;
  #history;
  #now;
  #client;
  #counters;
  #count = 0;

  constructor({ service, history, now, client, counters }) {
    this.#service = service;
    this.#history = history;
    this.#now = now;
    this.#client = client;
    this.#counters = counters;
  }

  /** Answers with the error code of an acquisition that failed. */
  async perform(plan) {
    const operation = this.#invoke(plan);
    let failed;
    const abort = plan.abortAfter === undefined ? undefined : new AbortController();
    const timer = abort && setTimeout(() => abort.abort(ABORTED), plan.abortAfter);
    const options = optionsOf(plan, abort?.signal);
    try {
      if (plan.through === 'run') {
        await this.#service.run(keysOf(plan), (handle) => this.#hold(operation, handle), options);
      } else {
        const handle = await takers[plan.through](this.#service, plan, options);
        if (handle === null) operation.fail('LOCK_TIMEOUT');
        else await this.#holdAndRelease(operation, handle);
      }
    } catch (error) {
      if (operation.isOpen) {
        failed = this.#expected(operation, error, failuresOf(plan));
        operation.fail(failed);
      } else this.#expected(operation, error, LOSSES);
      if (error.code === 'LOCK_STORE') await sleep(AFTER_FAILURE);
    } finally {
      clearTimeout(timer);
    }
    if (plan.pause > 0) await sleep(plan.pause);
    return failed;
  }

  /** Stands for election to `key` until the returned function is called; leads for as long as `lengths` say. */
  stand(key, lengths) {
    const ask = (length) =>
      this.#invoke({ kind: 'election', keys: [key], mode: 'exclusive', through: 'election', wait: STANDS_FOR, length });
    let operation = ask(lengths.next().value);
    let term;
    let stops = false;
    const election = this.#service.getLeaderElection(key, {
      onElected: async (handle) => {
        if (stops) return;
        term = this.#hold(operation, handle);
        await term;
        operation = ask(lengths.next().value);
        // It waits for this listener.
        void election.resign();
      },
    });
    election.start();
    return async () => {
      stops = true;
      // Other tests cover how a term that is stopped ends.
      await term;
      await election.stop();
      if (operation.isOpen) operation.fail('ABORTED');
    };
  }

  #invoke(plan, within) {
    const op = `${this.#client}.${++this.#count}`;
    const { kind, keys, mode, units, owner, wait, abortAfter, through, final, replicas } = plan;
    const renews = !(plan.expire > 0) && !(plan.maxRenewTimes > 0);
    const terms = { mode, units, owner, replicas, wait, abortAfter, renews };
    this.#history.note('invoke', { op, kind, keys, ...terms, through, final, within });
    const operation = { op, plan, isOpen: true };
    operation.fail = (code) => {
      operation.isOpen = false;
      this.#history.note('fail', { op, code });
    };
    return operation;
  }

  async #holdAndRelease(operation, handle) {
    try {
      await this.#hold(operation, handle);
    } finally {
      const released = await handle.release().catch((error) => this.#expected(operation, error, LOSSES));
      this.#history.note('released', { op: operation.op, released });
    }
  }

  /** The section: from the grant, with a look at the lock all the time, until just before the release. */
  async #hold(operation, handle) {
    const { op, plan } = operation;
    operation.isOpen = false;
    const tokens = Object.fromEntries(handle.fencingTokens);
    this.#history.note('ok', { op, owner: handle.owner, tokens });
    const validity = new ValidityLog({ op, handle, history: this.#history, now: this.#now });
    this.#write(op, tokens);
    const counted = plan.mode === 'exclusive' && this.#counters?.read(plan.keys[0]);
    await validity.lookUntil(plan.step === undefined ? plan.length : plan.step.at);
    for (let { step } = plan; step !== undefined && validity.isHeld; step = step.next) {
      await this.#does[step.does]?.(operation, handle, step, validity);
      await validity.lookUntil(step.stay ?? plan.length - step.at);
    }
    // Without a check of `isHeld`, as a careless holder does: the resource must reject it after the next holder wrote.
    this.#write(op, tokens);
    if (typeof counted === 'number' && handle.isHeld) this.#counters.write(op, plan.keys[0], counted + 1);
    validity.end();
  }

  #does = {
    verify: (operation, handle) => handle.verify().catch((error) => this.#expected(operation, error, LOSSES)),
    'keep verifying': async (operation, handle, { times }) => {
      for (let i = 0; i < times && handle.isHeld; i++) await this.#does.verify(operation, handle);
    },
    extend: async (operation, handle, { lease }) => {
      this.#history.note('extend', { op: operation.op, lease });
      await handle.extend(lease).catch((error) => this.#expected(operation, error, LOSSES));
    },
    block: async (_operation, _handle, { ms }) => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
    },
    're-enter': async (operation, handle) => {
      const { plan } = operation;
      if (plan.through !== 'run' || plan.mode === 'permits') return;
      const inner = { ...plan, keys: plan.keys.slice(0, 1), wait: 0, final: undefined, through: 'acquire' };
      const { op, ...nested } = this.#invoke(inner, operation.op);
      try {
        const again = await this.#service.acquire(inner.keys[0], { ...optionsOf(inner), owner: undefined });
        this.#history.note('ok', { op, owner: again.owner, tokens: Object.fromEntries(again.fencingTokens) });
        await again.release();
      } catch (error) {
        // The outer one may have been lost meanwhile; then the key is as any other one.
        if (handle.isHeld) this.#expected({ op }, error, ['LOCK_STORE']);
        nested.fail(error.code);
      }
    },
  };

  #write(op, tokens) {
    for (const [key, token] of Object.entries(tokens)) this.#history.note('write', { op, key, token });
  }

  #expected({ op }, error, codes) {
    const code = error?.code ?? error?.name ?? String(error);
    if (!codes.includes(code)) this.#history.note('surprise', { op, text: String(error?.stack ?? error) });
    return code;
  }
}

const failuresOf = ({ kind, replicas }) =>
  kind === 'several' || replicas !== undefined ? FAILURES_ON_THE_WAY : FAILURES;

const keysOf = ({ keys, kind }) => (kind === 'several' ? keys : keys[0]);

function optionsOf(
  { kind, mode, owner, fair, wait, expire, maxRenewTimes, holdAtLeast, replicas, units, permits },
  signal,
) {
  return {
    ...{ waitTimeout: wait, expire, maxRenewTimes: expire === 0 ? maxRenewTimes : undefined, holdAtLeast, signal },
    ...{ owner, fair, replicas, kind: kind === 'write' ? 'write' : mode === 'read' ? 'read' : undefined },
    ...(mode === 'permits' && { permits: permits ?? permitsOf(), units: permits && units }),
  };
}
