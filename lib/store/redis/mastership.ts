import { systemClock, type Clock } from '../../common/clock.js';

/**
 * For how many ms a server may be silent without a doubt, before a message and before a reply. A master is replaced
 * later than that: a Cluster waits for its node timeout and 500 ms more, and Sentinels for `down-after-milliseconds`.
 */
export const UNDOUBTED = 250;

/**
 * Knows whether a server is still the master. A master that was frozen executes its backlog when it is thawed, before it
 * learns that it has been replaced. So a message or a reply after a silence counts only once others have confirmed the
 * server. As long as messages arrive at short intervals, nothing is asked.
 */
export class Mastership {
  /** Until when the server is known to have been the master. */
  private provenAt = -Infinity;
  private asking: Promise<boolean> | undefined;

  /** @param ask asks others whether the server is still the master of this key. Never rejects */
  constructor(
    private readonly ask: (name: string) => Promise<boolean>,
    /** Counts suspensions: the master may have been replaced meanwhile. */
    private readonly clock: Pick<Clock, 'now'> = systemClock,
  ) {}

  get isAsking(): boolean {
    return this.asking !== undefined;
  }

  /** A message or reply about `name` has arrived. Resolves to whether that counts; `undefined`: it does. */
  confirm(name: string): Promise<boolean> | undefined {
    const now = this.clock.now();
    if (this.asking === undefined && now - this.provenAt <= UNDOUBTED) {
      this.provenAt = now;
      return undefined;
    }
    this.asking ??= this.ask(name).then((isMaster) => {
      this.asking = undefined;
      if (isMaster) this.provenAt = now;
      return isMaster;
    });
    return this.asking;
  }
}
