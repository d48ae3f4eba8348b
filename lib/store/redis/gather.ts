import { clearReadingTimer, setReadingTimer } from '../../common/reading-timer.js';

/** The answer to one of several questions, or why it has failed. */
export interface Answer<T> {
  readonly value?: T;
  readonly error?: Error;
}

/**
 * Collects the answers to questions, in the order of the questions, until they are enough, all have come, or `ms` are over.
 * An answer is `undefined` as long as it has not come.
 */
export function gather<T>(
  asked: ReadonlyArray<Promise<T>>,
  ms: number,
  isEnough: (answers: ReadonlyArray<Answer<T> | undefined>) => boolean,
): Promise<ReadonlyArray<Answer<T> | undefined>> {
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
