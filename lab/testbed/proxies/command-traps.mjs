// @ts-check

/**
 * @typedef {import('./proxied-connection.mjs').ProxiedCommand} ProxiedCommand
 *
 * @typedef {number | ((command: ProxiedCommand) => boolean) | CommandPattern} CommandSelector
 *   Chooses commands: the n-th from now on, all that meet a condition, or the n-th that meets it
 *
 * @typedef {object} CommandPattern
 * @property {number} [nth] from 1, the default, counted over all connections
 * @property {readonly string[]} [names] command names in lower case, such as `['evalsha', 'eval']`
 * @property {(command: ProxiedCommand) => boolean} [where]
 *
 * @typedef {object} Fault Something that will happen once
 * @property {Promise<ProxiedCommand>} happened resolves to the command that it happened to
 * @property {() => void} cancel
 *
 * @typedef {'see' | 'cut before' | 'cut after' | 'garble'} Effect
 *
 * @typedef {object} Trap
 * @property {Effect} effect
 * @property {(command: ProxiedCommand) => boolean} matches
 * @property {number} left
 * @property {(command: ProxiedCommand) => void} spring
 */

/** The planned faults of single commands on their way through a proxy. */
export class CommandTraps {
  /** @type {Set<Trap>} */
  #traps = new Set();
  /** Commands whose reply will be cut. @type {Map<ProxiedCommand, Trap>} */
  #sentenced = new Map();

  /** @param {Effect} effect @param {CommandSelector} selector @returns {Fault} */
  set(effect, selector) {
    const { nth, matches } = asCondition(selector);
    /** @type {Trap} */
    const trap = { effect, matches, left: nth, spring: () => undefined };
    /** @type {Promise<ProxiedCommand>} */
    const happened = new Promise((resolve) => (trap.spring = resolve));
    this.#traps.add(trap);
    return { happened, cancel: () => void this.#traps.delete(trap) };
  }

  /** @param {ProxiedCommand} command @returns {'pass' | 'cut'} */
  requested(command) {
    /** @type {'pass' | 'cut'} */
    let decision = 'pass';
    for (const trap of this.#traps) {
      if (!trap.matches(command) || --trap.left > 0) continue;
      this.#traps.delete(trap);
      if (trap.effect === 'see' || trap.effect === 'cut before') trap.spring(command);
      else this.#sentenced.set(command, trap);
      if (trap.effect === 'cut before') decision = 'cut';
    }
    return decision;
  }

  /** @param {ProxiedCommand} command @returns {'pass' | Effect} */
  replied(command) {
    const trap = this.#sentenced.get(command);
    if (trap === undefined) return 'pass';
    this.#sentenced.delete(command);
    trap.spring(command);
    return trap.effect;
  }
}

/**
 * @param {CommandSelector} selector
 * @returns {{ nth: number, matches: (command: ProxiedCommand) => boolean }}
 */
function asCondition(selector) {
  if (typeof selector === 'number') return { nth: selector, matches: () => true };
  if (typeof selector === 'function') return { nth: 1, matches: selector };
  const { nth = 1, names, where = () => true } = selector;
  return { nth, matches: (command) => (names?.includes(command.name) ?? true) && where(command) };
}
