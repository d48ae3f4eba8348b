import { clearReadingTimer, setReadingTimer } from '../../common/reading-timer.js';

/** The answers to questions, or why these have failed. `undefined` as long as neither has come. */
export type Answers<T> = ReadonlyArray<Answer<T> | undefined>;

interface Answer<T> {
  readonly value?: T;
  readonly error?: Error;
}

/** The answers to the questions that have not failed. */
export const given = <T>(answers: Answers<T>): T[] =>
  answers.flatMap((answer) => (answer === undefined || answer.error !== undefined ? [] : [answer.value as T]));

/** Why the first question has failed that did. Questions that have just been given up say so. */
export async function failureOf(asked: ReadonlyArray<Promise<unknown>>): Promise<Error | undefined> {
  const answers = await gather(asked, 0, () => false);
  return answers.find((answer) => answer?.error !== undefined)?.error;
}

/**
 * Collects the answers to questions, in the order of the questions, until they are enough, all have come, or `ms` are over.
 */
export function gather<T>(
  asked: ReadonlyArray<Promise<T>>,
  ms: number,
  isEnough: (answers: Answers<T>) => boolean,
): Promise<Answers<T>> {
  const answers = asked.map((): Answer<T> | undefined => undefined);
  return new Promise((resolve) => {
    const over = (): void => {
      clearReadingTimer(timer);
      resolve(answers);
    };
    const timer = setReadingTimer(ms, over);
    const settled = (i: number, answer: Answer<T>): void => {
      answers[i] = answer;
      if (!answers.includes(undefined) || isEnough(answers)) over();
    };
    asked.forEach((each, i) => {
      each.then(
        (value) => settled(i, { value }),
        (error: Error) => settled(i, { error }),
      );
    });
    if (asked.length === 0) over();
  });
}
