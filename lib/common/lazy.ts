import { types } from 'node:util';

/** Whether a value is a generator, or a function that makes one: its code runs only while it is iterated. */
export const isGenerator = (value: unknown): boolean =>
  types.isGeneratorObject(value) || types.isGeneratorFunction(value);

/** Whether a value is an Observable of any copy of RxJS. A proxy is none: it may have any property. */
export function isObservable(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || types.isProxy(value)) return false;
  const { lift, subscribe } = value as { readonly lift?: unknown; readonly subscribe?: unknown };
  return typeof lift === 'function' && typeof subscribe === 'function';
}
