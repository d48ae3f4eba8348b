/**
 * Numbers that a seed decides (Mulberry32), and choices made with them. Each user has a stream of its own, by name, so
 * that the draws of one do not change the draws of another.
 */
export class Random {
  #state;

  constructor(seed, stream = '') {
    this.#state = hash(`${seed}/${stream}`);
  }

  /** From 0 to below 1. */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Whole, from `least` to `most`. */
  between(least, most) {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  chance(probability) {
    return this.next() < probability;
  }

  among(things) {
    return things[Math.floor(this.next() * things.length)];
  }

  /** All of them, in another order. */
  shuffled(things) {
    const mixed = [...things];
    for (let i = mixed.length - 1; i > 0; i--) {
      const j = this.between(0, i);
      [mixed[i], mixed[j]] = [mixed[j], mixed[i]];
    }
    return mixed;
  }
}

/** FNV-1a. */
function hash(text) {
  let value = 0x811c9dc5;
  for (const character of text) value = Math.imul(value ^ character.codePointAt(0), 0x01000193) >>> 0;
  return value;
}
