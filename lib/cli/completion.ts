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

const SCRIPTS: Readonly<Record<Shell, string>> = {
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

/** The output of `completion`. */
export const completionFor = (shell: Shell): string => SCRIPTS[shell];
