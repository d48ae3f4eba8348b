import { COMMANDS, ORDERS, SHELLS, type Shell } from './command-table.js';

const PROGRAM = 'nestjs-redis-locks';
const FUNCTION = '_nestjs_redis_locks';
const COMMON = ['--connection', '--prefix', '--timeout', '--json', '--no-color', '--help', '--version'];

/** The words that may follow, by command. No word comes from Redis: a shell could run a key as code. */
const CASES = Object.entries(COMMANDS)
  .map(([name, { options, subject }]) => {
    const own = subject === 'shell' ? SHELLS : [...options.map((option) => `--${option}`), ...COMMON];
    return `    ${name}) words='${own.join(' ')}' ;;\n`;
  })
  .join('');

const NAMES = Object.keys(COMMANDS);

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
    -c|--connection|-p|--prefix|-t|--timeout|-i|--interval|--hold|--holder) words='' ;;
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

/** The options with a value: what fish completes behind them. */
const VALUES: Readonly<Record<string, string>> = {
  ...{ sort: ORDERS.join(' '), holder: '', interval: '', hold: '', connection: '', prefix: '', timeout: '' },
};
const SHORT: Readonly<Record<string, string>> = {
  ...{ connection: 'c', prefix: 'p', timeout: 't', interval: 'i', help: 'h', version: 'v' },
};

/** Fish reads one line for each word, with the condition under which it completes it. */
function fish(): string {
  const line = (...words: string[]): string => `complete -c ${PROGRAM} ${words.join(' ')}\n`;
  const option = (condition: string, name: string): string => {
    const short = SHORT[name] === undefined ? [] : [`-s ${SHORT[name]}`];
    const value = VALUES[name] === undefined ? [] : [`-x -a '${VALUES[name]}'`];
    return line(`-n '${condition}'`, ...short, `-l ${name}`, ...value);
  };
  const first = `not __fish_seen_subcommand_from ${NAMES.join(' ')}`;
  const commands = Object.entries(COMMANDS).flatMap(([name, { options, subject }]) => {
    const behind = `__fish_seen_subcommand_from ${name}`;
    return [
      line(`-n '${first}'`, `-a ${name}`),
      ...(subject === 'shell'
        ? [line(`-n '${behind}'`, `-a '${SHELLS.join(' ')}'`)]
        : [...options, ...COMMON.map((each) => each.slice(2))].map((each) => option(behind, each))),
    ];
  });
  return `# fish completion of ${PROGRAM}\n${line('-f')}${commands.join('')}`;
}

/** The output of `completion`. */
export const completionFor = (shell: Shell): string => (shell === 'fish' ? fish() : SCRIPTS[shell]);
