import type { Clock } from '../../common/clock.js';

/** Lets one waiter sleep until it is woken or a time has come. */
export class WakeSignal {
  private waking: (() => void) | undefined;

  constructor(private readonly clock: Clock) {}

  wake(): void {
    this.waking?.();
  }

  /** Resolves with the next `wake`, or at `time`. */
  wokenBy(time: number): Promise<void> {
    const { clock } = this;
    return new Promise((resolve) => {
      const timer =
        time === Infinity ? undefined : clock.setTimer(Math.max(1, Math.ceil(time - clock.now())), () => this.wake());
      this.waking = () => {
        clock.clearTimer(timer);
        this.waking = undefined;
        resolve();
      };
    });
  }
}
