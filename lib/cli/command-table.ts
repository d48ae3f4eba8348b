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

export const OWN_OPTIONS = {
  sort: `    --sort ORDER        key (the default), held (the longest held first), waiters (the most waiters first),
                          or lease (the lease that ends first)`,
  holder: `    --holder TEXT       ls, watch: only locks held or awaited by clients whose label, id or owner contains TEXT;
                          release: with --force, end only the holds of these clients`,
  interval: `-i, --interval TIME     the pause between two updates. Default: 1s`,
  force: `    --force             end all holds of the key`,
  hold: `    --hold ID           with --force: end only the hold with this id, which release KEY shows`,
} as const;
export type OwnOption = keyof typeof OWN_OPTIONS;

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
