import { COMMANDS, OWN_OPTIONS, type Topic } from './command-table.js';

const PROGRAM = 'nestjs-redis-locks';

const COMMON = `  -c, --connection WHERE  redis://user:password@host:6379/0 (rediss:// for TLS), or the module's connection as JSON:
                          {"host":"a","port":6379}, {"sentinels":[{"host":"a","port":26379}],"name":"main"}
                          or {"cluster":[{"host":"a","port":6379}],"options":{}}. Repeat the option for Redlock.
                          Default: $REDIS_URL, else redis://127.0.0.1:6379
  -p, --prefix PREFIX     the keyPrefix of the application. Default: lock
  -t, --timeout TIME      how long Redis may take to answer, such as 500ms or 10s. Default: 5s
      --json              write machine-readable output
      --no-color          use no colours, like NO_COLOR=1
  -h, --help              show this help; ls --help shows that of one command
  -v, --version           show the version
`;

const EXIT_CODES =
  'Exit codes: 0 success, 1 Redis failed, 2 invalid arguments, 3 the key is free, release was refused, or doctor found a problem.\n';

/** The output of `--help`, of the program or of one command. */
export function usage(topic?: Topic): string {
  if (topic !== undefined) {
    const { arguments: args, about, options, example } = COMMANDS[topic];
    const own = options.map((option) => `  ${OWN_OPTIONS[option]}\n`).join('');
    return (
      `Usage: ${[PROGRAM, topic, args].join(' ').trimEnd()} [options]\n\n${about[0]!.toUpperCase()}${about.slice(1)}.\n\n` +
      `Example: ${PROGRAM} ${example}\n\nOptions:\n${own}${topic === 'completion' ? '' : COMMON}\n${EXIT_CODES}`
    ).replace('Options:\n\n', '');
  }
  const commands = Object.entries(COMMANDS).map(
    ([name, { arguments: args, about }]) => `  ${`${name} ${args}`.padEnd(22)}  ${about}\n`,
  );
  const own = Object.values(OWN_OPTIONS).map((text) => `  ${text}\n`);
  return (
    `Shows and releases the locks of nestjs-redis-locks.\n\nUsage: ${PROGRAM} <command> [options]\n\n` +
    `${commands.join('')}\nOptions:\n${own.join('')}${COMMON}\n${EXIT_CODES}`
  );
}
