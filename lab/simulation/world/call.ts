import { SCRIPTS, type ScriptName } from '../../../lib/store/redis/scripts.generated.js';

/** A command, and if it runs a script, the parts of that. */
export interface Call {
  readonly words: readonly string[];
  readonly script: ScriptName | undefined;
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** The locks whose keys it names. */
  readonly locks: readonly string[];
  /** Grows with each call on a line. A copy that is sent again has the number of the first. */
  readonly number: number;
  /** The server that the line is meant for. */
  readonly line: string;
}

/** The prefix of all keys in a simulation. */
export const KEY_PREFIX = 'lock';

const STATE = /^\w+:state:\{(.+)\}$/;
const NAMES = Object.keys(SCRIPTS) as ScriptName[];
const byHash = new Map(NAMES.map((name) => [SCRIPTS[name].sha1, name]));
const byText = new Map(NAMES.map((name) => [SCRIPTS[name].source, name]));

export function callOf(words: readonly string[], number: number, line: string): Call {
  const [command, script, count] = words;
  const isScript = command === 'EVAL' || command === 'EVALSHA';
  if (!isScript) return { words, number, line, script: undefined, keys: [], args: [], locks: [] };
  const keys = words.slice(3, 3 + Number(count));
  const locks = keys.flatMap((key) => STATE.exec(key)?.[1] ?? []);
  return {
    ...{ words, number, line, keys, locks, args: words.slice(3 + Number(count)) },
    script: (command === 'EVAL' ? byText : byHash).get(script!),
  };
}

/** The acquisitions whose grants a reply to a call is about. */
export function grantsOf({ script, args }: Call): readonly string[] {
  switch (script) {
    case 'acquire':
      return [args[1]!];
    case 'handOver':
      return [args[2]!];
    case 'renew':
      return args.filter((_, i) => i % 2 === 0);
    default:
      return [];
  }
}

/** The acquisitions that a call asks a grant for, each in the place of its lock. */
export function askersOf({ script, args }: Call): readonly string[] {
  switch (script) {
    case 'acquire':
      return [args[1]!];
    case 'acquireAll':
      return args.filter((_, i) => i % 6 === 0);
    case 'release':
      return args[3] === undefined ? [] : [args[3]];
    default:
      return [];
  }
}

/** The id under which a call puts a hold in the place of another one, or of its own on another master. */
export function renamedTo({ script, args }: Call): string | undefined {
  return script === 'handOver' ? args[2] : script === 'reinstate' ? args[0] : undefined;
}

/**
 * The acquisition that a call ends: nothing that was sent before has an effect for it any more. A member of a quorum may give
 * up a grant and ask again under the same id in one step.
 */
export const endedBy = ({ script, args }: Call): string | undefined =>
  script === 'release' && args[3] !== args[1] ? args[1] : undefined;

/** Whether the caller has other keys already, so that its request passes waiters. */
export const goesAhead = ({ args }: Call): boolean => args.some((arg) => / ahead( |$)/.test(arg));

/** Whether the request takes a place in the queue if it is not granted. */
export const asksForPlace = ({ args }: Call): boolean => args.some((arg) => /^\d+ [12] \d+ \d+ /.test(arg));

/** The call in words, for a trace. */
export function describeCall({ words, script, args }: Call): string {
  if (script === undefined) return words.slice(0, 2).join(' ');
  const shown = args.filter((arg) => !arg.includes('\n') && arg !== '');
  return `${SCRIPTS[script].name}${shown.length === 0 ? '' : ` ${shown.join(' ')}`}`;
}

/** Whether a reply says that another command has to look at the rest of the queue or of the holds. */
export function hasMore({ script }: Call, reply: unknown): boolean {
  const list = Array.isArray(reply) ? (reply as unknown[]) : [];
  const place =
    script === 'setLimit'
      ? reply
      : script === 'acquire' || script === 'forceRelease'
        ? list[2]
        : script === 'release' && list.length > 2
          ? list[3]
          : list[1];
  return Number(place ?? -1) >= 0;
}
