/** Whether a value has a `then`, as promises and the queries of some ORMs have. */
export const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
