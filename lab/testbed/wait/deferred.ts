/** A promise that the test controls: it settles when the test says so. */
export interface Deferred<T> extends Promise<T> {
  resolve(value: T): void;
  reject(error: unknown): void;
}

export function deferred<T = void>(): Deferred<T> {
  let settle!: Pick<Deferred<T>, 'resolve' | 'reject'>;
  const promise = new Promise<T>((resolve, reject) => {
    settle = { resolve, reject };
  });
  return Object.assign(promise, settle);
}
