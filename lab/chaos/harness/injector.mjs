import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Makes the planned faults happen when they are due, and notes when each began, was in force and was over. Two that
 * would get into each other's way (the same server, the same client, the same network) come one after the other.
 */
export class Injector {
  #world;
  #history;
  #now;
  #kinds;
  #busy = new Map();

  constructor({ world, history, now, kinds }) {
    this.#world = world;
    this.#history = history;
    this.#now = now;
    this.#kinds = new Map(kinds.map((kind) => [kind.name, kind]));
  }

  /** Resolves when all are over. `startedAt` is the moment that their times count from. */
  run(faults, startedAt) {
    return Promise.all(
      faults.map(async (fault) => {
        await sleep(Math.max(0, startedAt + fault.at - this.#now()));
        const kind = this.#kinds.get(fault.kind);
        await this.#inTurn(this.#targetsOf(kind, fault), () => this.#happen(kind, fault));
      }),
    );
  }

  async #happen({ strikes, breaks, breaksUntil, forgets, lossless, ready, begin }, { at: planned, ...fault }) {
    const what = { ...fault, strikes, breaks, breaksUntil, forgets, lossless, planned };
    const note = (phase, details) => this.#history.note('fault', { phase, ...what, ...details });
    await ready?.(this.#world, fault);
    note('begin');
    const heal = await this.#begin(begin, fault);
    if (heal instanceof Error) return note('end', { refused: heal.message });
    note('active');
    if (fault.lasts !== undefined) await sleep(fault.lasts);
    await heal?.();
    note('end');
  }

  /** Answers how it is undone; or the error, where a master that has just become a replica does not take it. */
  async #begin(begin, fault) {
    try {
      return await begin(this.#world, fault);
    } catch (error) {
      if (error.name !== 'ReplyError') throw error;
      return error;
    }
  }

  async #inTurn(targets, happen) {
    const turn = Promise.all(targets.map((target) => this.#busy.get(target))).then(happen);
    for (const target of targets) this.#busy.set(target, turn);
    await turn;
  }

  /** The targets that two faults cannot strike at the same time. */
  #targetsOf({ strikes }, { client, server, key, away = [server], far }) {
    const struck = this.#world.topology.serversInTurn ? ['any'] : away;
    if (strikes === 'data' && server === undefined) return [`key ${key}`];
    const network = far === undefined ? [] : [`network ${far}`];
    if (strikes === 'data' || strikes === 'server') return [...struck.map((each) => `server ${each}`), ...network];
    return [`${strikes} ${client}`];
  }
}
