import { format, inspect } from 'node:util';
import { reachableFrom } from '../../../lab/testbed/history/reachable.js';

/** Every text that a logger, a debugger or an error reporter makes of a value. */
function renderings(value: unknown): string[] {
  return [
    inspect(value, { depth: 20, showHidden: true }),
    json(value),
    json(value, ownProperties()),
    String(value),
    format('%s %o %O', value, value, value),
  ];
}

function json(value: unknown, replacer?: (key: string, value: unknown) => unknown): string {
  try {
    return JSON.stringify(value, replacer) ?? '';
  } catch (error) {
    // Cycles: the message of that is printed as well.
    return String(error);
  }
}

/** The behaviour of error reporters: all own properties of everything, each object once. */
function ownProperties(): (key: string, value: unknown) => unknown {
  const seen = new Set<unknown>();
  return (_key, value) => {
    if (typeof value !== 'object' || value === null) return value;
    if (seen.has(value)) return undefined;
    seen.add(value);
    if (Array.isArray(value)) return value;
    return Object.fromEntries(
      Object.getOwnPropertyNames(value).map((name) => [name, (value as Record<string, unknown>)[name]]),
    );
  };
}

/** Texts and bytes anywhere in a value, whether something prints them or not. */
function* reachableTexts(value: unknown): Iterable<string> {
  if (typeof value === 'string') yield value;
  if (typeof value !== 'object' || value === null) return;
  for (const content of reachableFrom(value)) {
    if (typeof content === 'string') yield content;
    if (content instanceof Uint8Array) yield Buffer.from(content).toString('latin1');
  }
}

/** Where secrets stand in the renderings of the values, with some text around them; `[]`: nowhere. */
export function leaks(secrets: readonly string[], values: readonly unknown[]): string[] {
  const forms = secrets.flatMap((secret) => [secret, encodeURIComponent(secret)]);
  const findIn = (text: string): string[] =>
    forms.flatMap((form) => {
      const at = text.indexOf(form);
      return at < 0 ? [] : [text.slice(Math.max(0, at - 80), at + form.length)];
    });
  const found = values.flatMap((value) => [...reachableTexts(value)].flatMap(findIn));
  // Everything that properties reach is printed, too: but that may be gigabytes.
  return found.length > 0 ? found : values.flatMap((value) => renderings(value).flatMap(findIn));
}
