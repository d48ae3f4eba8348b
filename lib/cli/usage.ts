import { COMMANDS, COMMON_OPTIONS, OPTIONS, type Topic } from './command-table.js';

const PROGRAM = 'nestjs-redis-locks';

/** The column of the help in which the texts begin. */
const INDENT = 26;

/** The lines about some options. */
const aboutOptions = (names: readonly string[]): string =>
  names
    .map((name) => {
      const { short, argument = '', about } = OPTIONS[name]!;
      const head = `  ${short === undefined ? '   ' : `-${short},`} --${name} ${argument}`;
      return `${head.padEnd(INDENT)}${about.replaceAll('\n', `\n${' '.repeat(INDENT)}`)}\n`;
    })
    .join('');

const EXIT_CODES =
  'Exit codes: 0 success, 1 Redis failed, 2 invalid arguments, 3 the key is free, release was refused, or doctor found a problem.\n';

/** The output of `--help`, of the program or of one command. */
export function usage(topic?: Topic): string {
  if (topic !== undefined) {
    const { arguments: args, about, options, example } = COMMANDS[topic];
    const names = topic === 'completion' ? [] : [...options, ...Object.keys(COMMON_OPTIONS)];
    return (
      `Usage: ${[PROGRAM, topic, args, names.length === 0 ? '' : '[options]'].filter(Boolean).join(' ')}\n\n${about[0]!.toUpperCase()}${about.slice(1)}.\n\n` +
      `Example: ${PROGRAM} ${example}\n\nOptions:\n${aboutOptions(names)}\n${EXIT_CODES}`
    ).replace('Options:\n\n', '');
  }
  const commands = Object.entries(COMMANDS).map(
    ([name, { arguments: args, about }]) => `  ${`${name} ${args}`.padEnd(22)}  ${about}\n`,
  );
  return (
    `Shows and releases the locks of nestjs-redis-locks.\n\nUsage: ${PROGRAM} <command> [options]\n\n` +
    `${commands.join('')}\nOptions:\n${aboutOptions(Object.keys(OPTIONS))}\n${EXIT_CODES}`
  );
}
