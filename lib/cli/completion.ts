import { COMMANDS, COMMON_OPTIONS, OPTIONS, ORDERS, SHELLS, type Shell } from './command-table.js';

const PROGRAM = 'nestjs-redis-locks';
const FUNCTION = '_nestjs_redis_locks';
const COMMON = Object.keys(COMMON_OPTIONS);

/** The words that may follow, by command. No word comes from Redis: a shell could run a key as code. */
const CASES = Object.entries(COMMANDS)
  .map(([name, { options, subject }]) => {
    const own = subject === 'shell' ? SHELLS : [...options, ...COMMON].map((option) => `--${option}`);
    return `    ${name}) words='${own.join(' ')}' ;;\n`;
  })
  .join('');

const NAMES = Object.keys(COMMANDS);
/** The options whose values are not completed. */
const WITH_TEXT = Object.entries(OPTIONS)
  .filter(([name, { type }]) => type === 'string' && name !== 'sort')
  .flatMap(([name, { short }]) => [...(short === undefined ? [] : [`-${short}`]), `--${name}`]);

/** Finds the command and the words; `count` words of `line` precede the current one. */
const body = (line: string): string => `  local command='' word words
  for word in ${line}; do
    case $word in ${NAMES.join('|')}) command=$word; break ;; esac
  done
  case $command in
${CASES}    *) words='${[...NAMES, '--help', '--version'].join(' ')}' ;;
  esac
  case $previous in
    --sort) words='${ORDERS.join(' ')}' ;;
    ${WITH_TEXT.join('|')}) words='' ;;
  esac
`;

const SCRIPTS: Readonly<Record<Exclude<Shell, 'fish'>, string>> = {
  bash: `# bash completion of ${PROGRAM}
${FUNCTION}() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]}
${body('"${COMP_WORDS[@]:1:COMP_CWORD-1}"')}  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F ${FUNCTION} ${PROGRAM}
`,
  zsh: `#compdef ${PROGRAM}
${FUNCTION}() {
  local previous=\${words[CURRENT-1]}
  local -a line=("\${(@)words[2,CURRENT-1]}")
${body('"${line[@]}"').replaceAll('words', 'candidates')}  compadd -- \${=candidates}
}
compdef ${FUNCTION} ${PROGRAM}
`,
};

/** Fish reads one line for each word, with the condition under which it completes it. */
function fish(): string {
  const line = (...words: string[]): string => `complete -c ${PROGRAM} ${words.join(' ')}\n`;
  const option = (condition: string, name: string): string => {
    const { type, short } = OPTIONS[name]!;
    const before = short === undefined ? [] : [`-s ${short}`];
    const value = type === 'boolean' ? [] : [`-x -a '${name === 'sort' ? ORDERS.join(' ') : ''}'`];
    return line(`-n '${condition}'`, ...before, `-l ${name}`, ...value);
  };
  const first = `not __fish_seen_subcommand_from ${NAMES.join(' ')}`;
  const commands = Object.entries(COMMANDS).flatMap(([name, { options, subject }]) => {
    const behind = `__fish_seen_subcommand_from ${name}`;
    return [
      line(`-n '${first}'`, `-a ${name}`),
      ...(subject === 'shell'
        ? [line(`-n '${behind}'`, `-a '${SHELLS.join(' ')}'`)]
        : [...options, ...COMMON].map((each) => option(behind, each))),
    ];
  });
  return `# fish completion of ${PROGRAM}\n${line('-f')}${commands.join('')}`;
}

/** The output of `completion`. */
export const completionFor = (shell: Shell): string => (shell === 'fish' ? fish() : SCRIPTS[shell]);
