import { parseArgs } from 'node:util';
import { LONGEST_TIMER } from '../common/clock.js';
import { mayBeConnection, withoutSecret } from '../common/credentials.js';
import { alternatives, oneLine } from '../common/describe.js';
import { assertKey } from '../keys/index.js';
import { read } from '../options/option-readers.js';
import { COMMANDS, COMMON_OPTIONS, ORDERS, OWN_OPTIONS, SHELLS } from './command-table.js';
import type { CommandName, Order, OwnOption, Shell, Topic } from './command-table.js';
import type { WrittenConnection } from './deployment/deployment.js';

/** A parsed command line. */
export interface CommandLine {
  readonly command: CommandName;
  /** The key of `inspect`, `release` and `doctor`, the pattern of `ls` and `watch`. */
  readonly subject: string | undefined;
  /** One connection; several for Redlock. */
  readonly connections: readonly WrittenConnection[];
  readonly prefix: string | undefined;
  /** ms */
  readonly timeout: number;
  /** ms */
  readonly interval: number;
  /** The order of `ls` and `watch`. */
  readonly sort: Order;
  /** A part of the label, id or owner of the clients whose locks `ls` and `watch` show. */
  readonly holder: string | undefined;
  readonly force: boolean;
  /** The one hold that `release` ends. */
  readonly hold: string | undefined;
  readonly json: boolean;
  readonly color: boolean;
}

/** A command line that cannot be used. The message says what to write instead. */
export class UsageError extends Error {}

/** What to write instead of running a command. */
export type Answer = 'version' | { readonly help: Topic | undefined } | { readonly completion: Shell };

/**
 * Parses a command line.
 * @throws UsageError
 */
export function readCommandLine(args: readonly string[], env: NodeJS.ProcessEnv): CommandLine | Answer {
  const { values, positionals } = parse(args);
  const { connection, ...others } = values;
  for (const text of [...positionals, ...Object.values(others)]) refuseConnections(text);
  const [name, ...rest] = positionals;
  const topic = name !== undefined && Object.hasOwn(COMMANDS, name) ? (name as Topic) : undefined;
  if (values.help === true) return { help: topic };
  if (values.version === true) return 'version';
  if (name === undefined) return { help: undefined };
  if (topic === undefined) {
    throw new UsageError(`unknown command '${oneLine(name)}': write one of ${Object.keys(COMMANDS).join(', ')}`);
  }
  for (const option of Object.keys(OWN_OPTIONS) as OwnOption[]) {
    if (values[option] === undefined || COMMANDS[topic].options.includes(option)) continue;
    throw new UsageError(`--${option} is not an option of ${topic}: see ${topic} --help`);
  }
  if (topic === 'completion') return { completion: oneOf('completion', SHELLS, readSubject(topic, rest)) };
  const command = topic;
  return {
    command,
    subject: readSubject(command, rest),
    connections: readConnections(connection ?? [env['REDIS_URL'] || 'redis://127.0.0.1:6379']),
    prefix: values.prefix,
    timeout: readTime('--timeout', values.timeout ?? '5s'),
    interval: readTime('--interval', values.interval ?? '1s'),
    sort: oneOf('--sort', ORDERS, values.sort ?? 'key'),
    holder: readPart('--holder', values.holder, 'a part of a label, an id or an owner'),
    force: values.force === true,
    hold: readPart('--hold', values.hold, 'the id of a hold, as release KEY shows it'),
    json: values.json === true,
    color: values['no-color'] !== true,
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: { ...OWN_OPTIONS, ...COMMON_OPTIONS },
      allowPositionals: true,
    });
  } catch (error) {
    throw new UsageError(messageWithout(args, plainly((error as Error).message)));
  }
}

/** Options by which other programs take an address of Redis. */
const ADDRESS = /^--?(?:u(?:rl|ri)?|h(?:ost)?|p(?:ort)?|redis|server)$/;

/** A message of Node in the words of this program. */
function plainly(message: string): string {
  const name = /'(?:-\w, )?(-[^\s']*)/.exec(message)?.[1] ?? '';
  if (message.startsWith('Unknown option')) {
    const instead = ADDRESS.test(name)
      ? 'write --connection redis://HOST:PORT'
      : 'see --help; write a key that begins with a dash after --, as in inspect -- -key';
    return `there is no option ${name}: ${instead}`;
  }
  if (message.includes('missing')) return `${name} needs a value`;
  if (message.includes('ambiguous'))
    return `${name} needs a value: write a value that begins with a dash as in --prefix=-x`;
  return message.includes('does not take') ? `${name} takes no value` : message;
}

/** Removes arguments that may hold a password from a message of Node. It quotes them as they are or as JSON. */
function messageWithout(args: readonly string[], message: string): string {
  const secret = args.filter((arg) => {
    const text = arg.replace(/^-*/, '');
    return mayBeConnection(text) || withoutSecret(text) !== text;
  });
  const forms = secret.flatMap((arg) => [arg, JSON.stringify(arg).slice(1, -1)]);
  return withoutSecret(forms.reduce((text, form) => text.replaceAll(form, '***'), message));
}

/** Refuses an address of Redis among the arguments. It may hold a password, so the message does not repeat it. */
function refuseConnections(text: string | boolean): void {
  if (typeof text !== 'string' || !mayBeConnection(text)) return;
  throw new UsageError('an address of Redis belongs after --connection, or in the environment variable REDIS_URL');
}

function oneOf<Value extends string>(label: string, values: readonly Value[], written: string | undefined): Value {
  const value = values.find((each) => each === written);
  if (value !== undefined) return value;
  const given = written === undefined ? '' : `, not '${oneLine(written)}'`;
  throw new UsageError(`${label} takes one of ${values.join(', ')}${given}`);
}

function readSubject(command: Topic, [first, ...others]: readonly string[]): string | undefined {
  const { subject } = COMMANDS[command];
  if (others.length > 0) {
    const one = subject === 'optional key' ? 'key' : subject;
    const hint = subject === 'shell' ? alternatives(SHELLS) : `quote a ${one} that contains spaces`;
    throw new UsageError(`${command} takes one ${one}: ${hint}`);
  }
  if (first === undefined && subject === 'key') {
    throw new UsageError(`${command} needs a key: ${command} stock:42`);
  }
  const isKey = first !== undefined && (subject === 'key' || subject === 'optional key');
  return isKey ? refusing(() => assertKey(first)) : first;
}

/** Refuses an empty text: each name contains it, so `release --force --holder "$POD"` would end all holds if POD is not set. */
function readPart(option: string, text: string | undefined, instead: string): string | undefined {
  if (text === undefined || text.trim() !== '') return text;
  throw new UsageError(`${option} is empty: write ${instead}`);
}

/** Reads URLs, and the module's connections as JSON. */
function readConnections(written: readonly string[]): WrittenConnection[] {
  return written.map((text) => {
    if (!text.trimStart().startsWith('{')) return text;
    try {
      return JSON.parse(text) as WrittenConnection;
    } catch {
      // The text may hold a password, and JSON.parse would repeat it.
      throw new UsageError('--connection begins with { but is not valid JSON: write \'{"host":"redis","port":6379}\'');
    }
  });
}

function readTime(label: string, written: string): number {
  try {
    const ms = read.duration(label, written);
    if (ms > 0 && ms <= LONGEST_TIMER) return ms;
  } catch {
    // Its message is about options in code.
  }
  throw new UsageError(
    `${label} takes a time with a unit, from 1ms to 24d, such as 500ms or 10s, not '${oneLine(written)}'`,
  );
}

/** Reports an option that the library refuses as a wrong command line. */
export function refusing<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof Error && 'code' in error ? new UsageError(error.message) : error;
  }
}
