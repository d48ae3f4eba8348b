/**
 * Writes down each failover, of any cause: `begin` as soon as clients may find another master, `end` when the old one
 * acknowledges nothing any more.
 */
export class FailoverNotes {
  #history;
  #count = 0;

  constructor(history) {
    this.#history = history;
  }

  /**
   * `from`: the last moment at which the new master was certainly a replica. `over` resolves when the old one is none any
   * more. `details` go into the history as they are.
   */
  async note({ from, over, ...details }) {
    const id = ++this.#count;
    this.#history.note('failover', { id, phase: 'begin', from, ...details });
    await over;
    this.#history.note('failover', { id, phase: 'end' });
  }
}
