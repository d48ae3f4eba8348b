import { foreignError } from '../store/redis/foreign-error.js';
import type { CommandName, CommandLine } from './arguments.js';
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
import { USAGE } from './usage.js';

type Command = (session: Session, line: CommandLine, terminal: Terminal) => Promise<ExitCode>;

const COMMANDS: Readonly<Record<CommandName, Command>> = { ls, inspect, watch, release, doctor };

/** Runs the program once. */
export async function run(args: readonly string[], env: NodeJS.ProcessEnv, version: string): Promise<ExitCode> {
  const { stdout, stderr } = process;
  try {
    const line = readCommandLine(args, env);
    if (typeof line === 'string') {
      stdout.write(line === 'help' ? USAGE : `${version}\n`);
      return EXIT.ok;
    }
    const terminal: Terminal = {
      style: styleFor(stdout, line.color, env),
      isInteractive: stdout.isTTY,
      write: (text) => void stdout.write(text),
      complain: (text) => void stderr.write(text),
    };
    await using session = await connect(line);
    return await COMMANDS[line.command](session, line, terminal);
  } catch (error) {
    stderr.write(`nestjs-redis-locks: ${safe(foreignError(error).message)}\n`);
    if (error instanceof UsageError) stderr.write('See nestjs-redis-locks --help.\n');
    return error instanceof UsageError ? EXIT.usage : EXIT.failed;
  }
}
