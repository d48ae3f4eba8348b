import type { Clock } from '../../common/clock.js';
import { LockStoreError } from '../../errors/index.js';

/** What one master has answered. */
export type Answer<T> = { readonly value: T } | { readonly error: Error };

/** What several masters have answered so far, in their order. */
export type Answers<T> = ReadonlyArray<Answer<T> | undefined>;

/** For how many ms a slow master is waited for at least when a majority has answered, and has not decided it. */
const SHORTEST_GRACE = 10;
const LONGEST_GRACE = 100;

/** The slower the majority was, the longer those behind may take. */
export const graceAfter = (ms: number): number => Math.min(Math.max(2 * ms, SHORTEST_GRACE), LONGEST_GRACE);

export interface GatherTerms {
  readonly quorum: number;
  readonly clock: Clock;
  /** How many ms those behind a majority that took `ms` are waited for; `undefined`: until all have answered or failed. */
  readonly graceAfter?: (ms: number) => number | undefined;
}

/**
 * Looks at answers as they come, until they decide something. `decide` answers `undefined` as long as they do not; with
 * `last` nobody is waited for any more, and what it throws is the outcome.
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

/** @throws LockStoreError when so many have failed that the others are no majority */
export function refuseMinority<T>(answers: Answers<T>, quorum: number): void {
  if (errorsOf(answers).length > answers.length - quorum) throw tooFew(answers, quorum);
}

/** Says how many of how many have answered, and why the others have not. */
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
  const [cause] = lasting.length > masters - quorum ? lasting : errors;
  return new LockStoreError(
    `${answered} of ${masters} masters answered, and ${quorum} have to${why === '' ? '' : `: ${why}`}`,
    // Where others would have to change something first, asking again is of no use.
    { key, cause, transient: lasting.length <= masters - quorum },
  );
}

/** The `count`-th largest. */
export const nthLargest = (numbers: readonly number[], count: number): number | undefined =>
  [...numbers].sort((a, b) => b - a)[count - 1];
