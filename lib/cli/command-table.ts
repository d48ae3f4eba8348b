export type CommandName = 'ls' | 'inspect' | 'watch' | 'release' | 'doctor';
export type Topic = CommandName | 'completion';

/** The orders of `--sort`. */
export const ORDERS = ['key', 'held', 'waiters', 'lease'] as const;
export type Order = (typeof ORDERS)[number];

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

interface CommandFacts {
  readonly subject: 'key' | 'optional key' | 'pattern' | 'shell';
  /** The options besides those of all commands. */
  readonly options: readonly OwnOption[];
  readonly arguments: string;
  /** One line of the help. */
  readonly about: string;
  readonly example: string;
}

/** An option: how it is parsed, and its lines in the help. One with an argument is followed by a value. */
interface OptionFacts {
  readonly type: 'string' | 'boolean';
  readonly short?: string;
  readonly multiple?: boolean;
  readonly argument?: string;
  readonly about: string;
}

/** The options of some commands. */
export const OWN_OPTIONS = {
  sort: {
    ...{ type: 'string', argument: 'ORDER' },
    about: `key (the default), held (the longest held first), waiters (the most waiters first),
or lease (the lease that ends first)`,
  },
  holder: {
    ...{ type: 'string', argument: 'TEXT' },
    about: `ls, watch: only locks held or awaited by clients whose label, id or owner contains TEXT;
release: with --force, end only the holds of these clients`,
  },
  interval: { type: 'string', short: 'i', argument: 'TIME', about: 'the pause between two updates. Default: 1s' },
  force: { type: 'boolean', about: 'end all holds of the key' },
  hold: {
    ...{ type: 'string', argument: 'ID' },
    about: 'with --force: end only the hold with this id, which release KEY shows',
  },
} as const satisfies Record<string, OptionFacts>;
export type OwnOption = keyof typeof OWN_OPTIONS;

/** The options of all commands. */
export const COMMON_OPTIONS = {
  connection: {
    ...{ type: 'string', short: 'c', multiple: true, argument: 'WHERE' },
    about: `redis://user:password@host:6379/0 (rediss:// for TLS), or the module's connection as JSON:
{"host":"a","port":6379}, {"sentinels":[{"host":"a","port":26379}],"name":"main"}
or {"cluster":[{"host":"a","port":6379}],"options":{}}. Repeat the option for Redlock.
Default: $REDIS_URL, else redis://127.0.0.1:6379`,
  },
  prefix: { type: 'string', short: 'p', argument: 'PREFIX', about: 'the keyPrefix of the application. Default: lock' },
  timeout: {
    ...{ type: 'string', short: 't', argument: 'TIME' },
    about: 'how long Redis may take to answer, such as 500ms or 10s. Default: 5s',
  },
  json: { type: 'boolean', about: 'write machine-readable output' },
  'no-color': { type: 'boolean', about: 'use no colours, like NO_COLOR=1' },
  help: { type: 'boolean', short: 'h', about: 'show this help; ls --help shows that of one command' },
  version: { type: 'boolean', short: 'v', about: 'show the version' },
} as const satisfies Record<string, OptionFacts>;

/** How all options are parsed, and what the help says of them. */
export const OPTIONS: Readonly<Record<string, OptionFacts>> = { ...OWN_OPTIONS, ...COMMON_OPTIONS };

/** All commands: their arguments, the help and the completion of shells. */
export const COMMANDS: Readonly<Record<Topic, CommandFacts>> = {
  ls: {
    ...{ subject: 'pattern', options: ['sort', 'holder'], arguments: '[PATTERN]' },
    about: 'list the locks that are held or have waiters; in PATTERN, * matches any text',
    example: "ls 'stock:*' --sort waiters",
  },
  inspect: {
    ...{ subject: 'key', options: [], arguments: 'KEY' },
    about: 'show one lock, its holders and its queue',
    example: 'inspect stock:42',
  },
  watch: {
    ...{ subject: 'pattern', options: ['interval', 'sort', 'holder'], arguments: '[PATTERN]' },
    about: 'repeat ls until Ctrl-C',
    example: 'watch --sort held -i 500ms',
  },
  release: {
    ...{ subject: 'key', options: ['force', 'hold', 'holder'], arguments: 'KEY [--force]' },
    about: 'release a lock by force; without --force, only show its holders and the ids of their holds',
    example: 'release stock:42 --force --hold ID',
  },
  doctor: {
    ...{ subject: 'optional key', options: [], arguments: '[KEY]' },
    about: 'check the Redis servers, and say what to change; with KEY, also look for it in the layout of Redisson',
    example: 'doctor -t 10s',
  },
  completion: {
    ...{ subject: 'shell', options: [], arguments: SHELLS.join('|') },
    about: 'write a script with which the shell completes commands and options',
    example: 'completion bash > ~/.nestjs-redis-locks.bash',
  },
};
