import type { Clock } from '../../common/clock.js';
import { LockStoreError } from '../../errors/index.js';

/** The reply of one master. */
export type Answer<T> = { readonly value: T } | { readonly error: Error };

/** The replies of several masters so far, in the order of the masters. */
export type Answers<T> = ReadonlyArray<Answer<T> | undefined>;

/** If a majority has replied and the outcome is still open, slow masters get at least this many ms more. */
const SHORTEST_GRACE = 10;
const LONGEST_GRACE = 100;

/** The slower the majority was, the more time the others get. */
export const graceAfter = (ms: number): number => Math.min(Math.max(2 * ms, SHORTEST_GRACE), LONGEST_GRACE);

export interface GatherTerms {
  readonly quorum: number;
  readonly clock: Clock;
  /** How many ms the other masters get after a majority took `ms`; `undefined`: until all have answered or failed. */
  readonly graceAfter?: (ms: number) => number | undefined;
}

/**
 * Passes the replies to `decide` as they come, until it returns an outcome. It returns `undefined` as long as the
 * outcome is open. With `last` set, no more replies are awaited, and an error that it throws is the outcome.
 */
export function gather<T, R>(
  asks: ReadonlyArray<Promise<T>>,
  { quorum, clock, graceAfter: graceOf = graceAfter }: GatherTerms,
  decide: (answers: Answers<T>, last: boolean) => R | undefined,
): Promise<R> {
  return new Promise((resolve, reject) => {
    const answers: Array<Answer<T> | undefined> = asks.map(() => undefined);
    const since = clock.now();
    let timer: unknown;
    let isOver = false;

    const end = (finish: () => void): void => {
      isOver = true;
      clock.clearTimer(timer);
      finish();
    };
    const look = (last: boolean): void => {
      if (isOver) return;
      try {
        const result = decide(answers, last);
        if (result !== undefined) end(() => resolve(result));
        else if (last) end(() => reject(tooFew(answers, quorum)));
      } catch (error) {
        end(() => reject(error));
      }
    };
    const came = (i: number, answer: Answer<T>): void => {
      answers[i] = answer;
      look(answers.every((each) => each !== undefined));
      if (isOver || timer !== undefined || valuesOf(answers).length < quorum) return;
      const grace = graceOf(clock.now() - since);
      if (grace !== undefined) timer = clock.setTimer(grace, () => look(true));
    };
    asks.forEach((ask, i) => {
      ask.then(
        (value) => came(i, { value }),
        (error: unknown) => came(i, { error: error as Error }),
      );
    });
  });
}

export const valuesOf = <T>(answers: Answers<T>): T[] =>
  answers.flatMap((answer) => (answer !== undefined && 'value' in answer ? [answer.value] : []));

export const errorsOf = <T>(answers: Answers<T>): Error[] =>
  answers.flatMap((answer) => (answer !== undefined && 'error' in answer ? [answer.error] : []));

/** @throws LockStoreError if so many masters have failed that the rest is no majority */
export function refuseMinority<T>(answers: Answers<T>, quorum: number): void {
  if (errorsOf(answers).length > answers.length - quorum) throw tooFew(answers, quorum);
}

/** Returns an error that says how many masters answered, and why the others did not. */
export function tooFew<T>(answers: Answers<T>, quorum: number, key?: string): LockStoreError {
  return minorityError(answers.length, valuesOf(answers).length, errorsOf(answers), quorum, key);
}

export function minorityError(
  masters: number,
  answered: number,
  errors: readonly Error[],
  quorum: number,
  key?: string,
): LockStoreError {
  const lasting = errors.filter((error) => !(error instanceof LockStoreError && error.transient));
  const why = [...new Set(errors.map(({ message }) => message))].join('; ');
  const need = answered < quorum ? `${quorum} are needed` : `${quorum} have to agree`;
  const [cause] = lasting.length > masters - quorum ? lasting : errors;
  return new LockStoreError(
    `${answered} of ${masters} masters answered, but ${need}${why === '' ? '' : `: ${why}`}`,
    // A retry is of no use if too many masters refuse for good.
    { key, cause, transient: lasting.length <= masters - quorum },
  );
}

/** The `count`-th largest. */
export const nthLargest = (numbers: readonly number[], count: number): number | undefined =>
  [...numbers].sort((a, b) => b - a)[count - 1];
