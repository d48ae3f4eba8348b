/** Which holds of a key are meant, by their ids; `undefined`: all of them. */
export type HoldChoice = string | readonly string[] | undefined;

/** Returns whether a hold is meant. */
export function chooser(choice: HoldChoice): (hold: { readonly id: string }) => boolean {
  if (choice === undefined) return () => true;
  const ids = new Set(typeof choice === 'string' ? [choice] : choice);
  return ({ id }) => ids.has(id);
}
