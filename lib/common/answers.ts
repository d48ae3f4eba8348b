import { readingClock, type ReadingClock } from './reading-timer.js';
import { isError } from './type-guards.js';

/** What each question was answered with so far, or why it has failed; `undefined`: neither. In the order of the questions. */
export type Answers<T> = ReadonlyArray<T | Error | undefined>;

export const repliesOf = <T>(answers: Answers<T>): Array<Exclude<T, Error | undefined>> =>
  answers.filter((answer): answer is Exclude<T, Error | undefined> => answer !== undefined && !isError(answer));

export const errorsOf = (answers: Answers<unknown>): Error[] => answers.filter(isError);

/**
 * Passes the answers to `decide` as they come, until it returns an outcome; `undefined`: it depends on other answers. With
 * `last` set, no more answers are awaited, and it has to return an outcome or to throw an error.
 */
export function gatherAnswers<T, R>(
  clock: BellClock,
  asked: ReadonlyArray<Promise<T>>,
  decide: (answers: Answers<T>, last: boolean) => R | undefined,
  grace: (ms: number, answers: Answers<T>) => number | undefined,
): Promise<R> {
  const answers: Array<T | Error | undefined> = asked.map(() => undefined);
  const bell = new Bell(clock);
  asked.forEach((each, i) => {
    const came = (answer: T | Error): void => {
      answers[i] = answer;
      bell.ring();
    };
    each.then(came, came);
  });
  return bell.until(
    (last) => decide(answers, last || !answers.includes(undefined)),
    (ms) => grace(ms, answers),
  );
}

/** Collects the answers to questions until they are enough, all have come, or `ms` are over. */
export const gatherWithin = <T>(
  ms: number,
  asked: ReadonlyArray<Promise<T>>,
  isEnough: (answers: Answers<T>) => boolean = () => false,
  clock: BellClock = readingClock,
): Promise<Answers<T>> =>
  gatherAnswers(
    clock,
    asked,
    (answers, last) => (last || isEnough(answers) ? answers : undefined),
    () => ms,
  );

/** Why the first question has failed that did. Questions that have just been given up say so. */
export const failureOf = async (asked: ReadonlyArray<Promise<unknown>>): Promise<Error | undefined> =>
  errorsOf(await gatherWithin(0, asked))[0];

type BellClock = Pick<ReadingClock, 'now' | 'setTimer' | 'clearTimer'>;

/** How many ms from now on a wait lasts at most, if it has lasted for so many; `undefined`: there is no limit yet. */
export type Grace = (ms: number) => number | undefined;

/** Wakes the one function that waits for it. */
export class Bell {
  private wake: (() => void) | undefined;

  constructor(private readonly clock: BellClock) {}

  /** Something has changed that the waiting function should look at. */
  ring(): void {
    this.wake?.();
  }

  /** Resolves at the next ring, or at `time`. */
  rung(time: number): Promise<undefined> {
    const { clock } = this;
    return new Promise((resolve) => {
      const woken = (): void => {
        clock.clearTimer(timer);
        this.wake = undefined;
        resolve(undefined);
      };
      const timer = time === Infinity ? undefined : clock.setTimer(Math.max(1, Math.ceil(time - clock.now())), woken);
      this.wake = woken;
    });
  }

  /** Looks now and at each ring, until there is an outcome. With `last` set, the time is over. */
  async until<R>(look: (last: boolean) => R | undefined, grace: Grace): Promise<R> {
    const since = this.clock.now();
    let end = Infinity;
    for (;;) {
      const now = this.clock.now();
      const outcome = look(now >= end);
      if (outcome !== undefined) return outcome;
      if (end === Infinity) end = now + (grace(now - since) ?? Infinity);
      await this.rung(end);
    }
  }
}
