import type { WriteStream } from 'node:tty';
import { foreignError } from '../store/redis/foreign-error.js';
import type { CommandLine } from './arguments.js';
import type { CommandName } from './command-table.js';
import { completionFor } from './completion.js';
import { readCommandLine, UsageError } from './arguments.js';
import { doctor } from './commands/doctor.js';
import { inspect } from './commands/inspect.js';
import { ls } from './commands/ls.js';
import { release } from './commands/release.js';
import { watch } from './commands/watch.js';
import { EXIT, type ExitCode } from './exit-codes.js';
import { styleFor } from './output/style.js';
import type { Terminal } from './output/terminal.js';
import { safe } from './output/texts.js';
import { connect, type Session } from './session.js';
import { usage } from './usage.js';

type Command = (session: Session, line: CommandLine, terminal: Terminal) => Promise<ExitCode>;

const COMMANDS: Readonly<Record<CommandName, Command>> = { ls, inspect, watch, release, doctor };

/** Where the program writes: a process, or what stands for one. */
export interface Streams {
  readonly stdout: Pick<WriteStream, 'isTTY' | 'columns' | 'rows' | 'write'>;
  readonly stderr: Pick<WriteStream, 'write'>;
}

/** Runs the program once. */
export async function run(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  version: string,
  { stdout, stderr }: Streams = process,
): Promise<ExitCode> {
  try {
    const line = readCommandLine(args, env);
    if (line === 'version' || 'help' in line || 'completion' in line) {
      stdout.write(
        line === 'version' ? `${version}\n` : 'help' in line ? usage(line.help) : completionFor(line.completion),
      );
      return EXIT.ok;
    }
    const terminal: Terminal = {
      style: styleFor(stdout, line.color, env),
      isInteractive: stdout.isTTY,
      // A terminal may have no known size, or change it while watch runs.
      get space() {
        return {
          columns: (stdout.isTTY && stdout.columns) || Infinity,
          rows: (stdout.isTTY && stdout.rows) || Infinity,
        };
      },
      write: (text) => void stdout.write(text),
      complain: (text) => void stderr.write(text),
    };
    await using session = await connect(line);
    return await COMMANDS[line.command](session, line, terminal);
  } catch (error) {
    stderr.write(
      `nestjs-redis-locks: ${safe(error instanceof UsageError ? error.message : foreignError(error).message)}\n`,
    );
    if (error instanceof UsageError) stderr.write('See nestjs-redis-locks --help.\n');
    return error instanceof UsageError ? EXIT.usage : EXIT.failed;
  }
}
