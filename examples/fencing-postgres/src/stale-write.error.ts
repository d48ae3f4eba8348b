/** A holder with a larger fencing token has been here: this holder's lock had ended, and nothing was written. */
export class StaleWriteError extends Error {
  constructor(what: string, fencingToken: number) {
    super(`${what} has seen a larger fencing token than ${fencingToken}`);
    this.name = 'StaleWriteError';
  }
}
