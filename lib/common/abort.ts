/** One listener per signal, however many callers use it: from the eleventh listener on Node warns of a leak. */
const signals = new WeakMap<AbortSignal, { readonly callbacks: Set<() => void>; readonly listener: () => void }>();

/** Calls `callback` when `signal` aborts. Call the returned function to stop listening. */
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
