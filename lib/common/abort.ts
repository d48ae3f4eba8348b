/** One listener per signal, however many wait with it: from the eleventh on Node would warn of a leak. */
const signals = new WeakMap<AbortSignal, { readonly callbacks: Set<() => void>; readonly listener: () => void }>();

/** Has `callback` called when `signal` aborts, unless the function that is returned has been called before. */
export function listenToAbort(signal: AbortSignal, callback: () => void): () => void {
  const { callbacks, listener } = signals.get(signal) ?? addListener(signal);
  callbacks.add(callback);
  return () => {
    if (!callbacks.delete(callback) || callbacks.size > 0) return;
    signal.removeEventListener('abort', listener);
    signals.delete(signal);
  };
}

function addListener(signal: AbortSignal) {
  const callbacks = new Set<() => void>();
  const listener = (): void => {
    for (const callback of callbacks) callback();
  };
  const added = { callbacks, listener };
  signals.set(signal, added);
  signal.addEventListener('abort', listener, { once: true });
  return added;
}

/** `work`, or the reason of `signal` when that aborts before it is done. */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(signal.reason as Error);
    const stopListening = listenToAbort(signal, () => reject(signal.reason as Error));
    work.finally(stopListening).then(resolve, reject);
  });
}
