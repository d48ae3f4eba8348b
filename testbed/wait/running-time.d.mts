/**
 * A stopwatch that tells, beside the time that went by, how much of it the machine let this process run. On a machine
 * that has other things to do a process waits for its turn, and limits that state a promise do not speak of that.
 */
export declare class RunningTime {
  /** ms that have gone by. */
  get took(): number;
  /** The same without the time for which this process had something to do, and had to wait for its turn. */
  get ran(): number;
  /** Looks no more; answers itself. */
  stop(): this;
}
