import { parseArgs, type ParseArgsConfig } from 'node:util';
import { mayBeConnection, withoutSecret } from '../common/credentials.js';
import { oneLine } from '../common/describe.js';
import { LockConfigError } from '../errors/index.js';
import { assertKey } from '../keys/index.js';
import { readDuration } from '../options/option-readers.js';
import type { WrittenConnection } from './deployment/deployment.js';

export type CommandName = 'ls' | 'inspect' | 'watch' | 'release' | 'doctor';

/** A parsed command line. */
export interface CommandLine {
  readonly command: CommandName;
  /** The key of `inspect` and `release`, the pattern of `ls` and `watch`. */
  readonly subject: string | undefined;
  /** One connection; several for Redlock. */
  readonly connections: readonly WrittenConnection[];
  readonly prefix: string | undefined;
  /** ms */
  readonly timeout: number;
  /** ms */
  readonly interval: number;
  readonly force: boolean;
  /** The one hold that `release` ends. */
  readonly hold: string | undefined;
  readonly json: boolean;
  readonly color: boolean;
}

/** A command line that cannot be used. The message says what to write instead. */
export class UsageError extends Error {}

/** The arguments of each command, besides the options of all commands. */
const COMMANDS: Readonly<Record<CommandName, { subject: 'key' | 'pattern' | 'none'; options?: readonly string[] }>> = {
  ls: { subject: 'pattern' },
  inspect: { subject: 'key' },
  watch: { subject: 'pattern', options: ['interval'] },
  release: { subject: 'key', options: ['force', 'hold'] },
  doctor: { subject: 'none' },
};

const OPTIONS = {
  connection: { type: 'string', short: 'c', multiple: true },
  prefix: { type: 'string', short: 'p' },
  timeout: { type: 'string', short: 't' },
  interval: { type: 'string', short: 'i' },
  force: { type: 'boolean' },
  hold: { type: 'string' },
  json: { type: 'boolean' },
  'no-color': { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
} satisfies ParseArgsConfig['options'];

const OF_SOME_COMMANDS = ['interval', 'force', 'hold'] as const;

/**
 * Parses a command line.
 * @throws UsageError
 */
export function readCommandLine(args: readonly string[], env: NodeJS.ProcessEnv): CommandLine | 'help' | 'version' {
  const { values, positionals } = parse(args);
  for (const text of [...positionals, values.prefix, values.timeout, values.interval, values.hold])
    refuseConnections(text);
  if (values.help === true) return 'help';
  if (values.version === true) return 'version';
  const [name, ...rest] = positionals;
  if (name === undefined) return 'help';
  if (!Object.hasOwn(COMMANDS, name)) {
    throw new UsageError(`unknown command '${oneLine(name)}': write one of ${Object.keys(COMMANDS).join(', ')}`);
  }
  const command = name as CommandName;
  for (const option of OF_SOME_COMMANDS) {
    if (values[option] === undefined || COMMANDS[command].options?.includes(option) === true) continue;
    throw new UsageError(`--${option} is not an option of ${command}`);
  }
  return {
    command,
    subject: readSubject(command, rest),
    connections: readConnections(values.connection ?? [env['REDIS_URL'] || 'redis://127.0.0.1:6379']),
    prefix: values.prefix,
    timeout: readTime('--timeout', values.timeout ?? '5s'),
    interval: readTime('--interval', values.interval ?? '1s'),
    force: values.force === true,
    hold: readHold(values.hold),
    json: values.json === true,
    color: values['no-color'] !== true,
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new UsageError(messageWithout(args, (error as Error).message));
  }
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
function refuseConnections(text: string | undefined): void {
  if (text === undefined || !mayBeConnection(text)) return;
  throw new UsageError('an address of Redis belongs after --connection, or in the environment variable REDIS_URL');
}

function readSubject(command: CommandName, rest: readonly string[]): string | undefined {
  const { subject } = COMMANDS[command];
  const [first] = rest;
  if (rest.length > (subject === 'none' ? 0 : 1)) {
    throw new UsageError(
      `${command} takes ${subject === 'none' ? 'no argument' : `one ${subject}`}: quote a ${subject === 'none' ? 'value' : subject} that has spaces`,
    );
  }
  if (subject !== 'key') return first;
  if (first === undefined) throw new UsageError(`${command} needs a key: ${command} stock:42`);
  return refusing(() => assertKey(first));
}

function readHold(hold: string | undefined): string | undefined {
  if (hold === undefined || hold.trim() !== '') return hold;
  throw new UsageError('--hold is empty: write the id of a hold, as inspect shows it');
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
  const ms = refusing(() => readDuration(label, written));
  if (ms > 0) return ms;
  throw new UsageError(`${label} must be longer than 0: write 500ms or 5s`);
}

/** Reports an option that the library refuses as a wrong command line. */
export function refusing<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof Error && 'code' in error) throw new UsageError(error.message);
    throw error instanceof LockConfigError ? new UsageError(error.message) : error;
  }
}
