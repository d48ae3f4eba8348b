import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Guide } from './guide.mjs';

/** How fast a person reads, and types a command. */
const WORDS_A_MINUTE = 230;
const CHARACTERS_A_MINUTE = 200;
/** Each answer may take so many minutes. */
export const GOAL = 3;

const ALERT = 'deploy#monitoring';
const KEY = 'stuck-key';
const SYMPTOMS = 'stuck-key#other-symptoms';
const SAFE = 'stuck-key#free-the-key';
const ALIVE = 'stuck-key#the-holder-is-alive';
const FAILURES = 'errors#failures-of-redis';
const REASONS = 'errors#reasons-of-a-loss';
const LS = 'npx nestjs-redis-locks ls stock:42';
const INSPECT = 'npx nestjs-redis-locks inspect stock:42';
const LOST = 'grep lock.lost shop-1.log';
const LOG = 'grep stock:42 shop-1.log';
/** The guide has the person look twice. */
const PAUSE = '15 s';

/**
 * What a person on call reads and runs in each section of the transcript, until it is clear what is wrong, who it is, and
 * what is safe to do. An answer that an earlier output has given already takes no time. An alert begins with its row in `deploy.md`.
 * @type {Readonly<Record<string, readonly [what: readonly string[], who: readonly string[], safe: readonly string[]]>>}
 */
const PATHS = {
  'The holder has crashed': [[KEY, LS], [], []],
  'The holder is frozen': [[KEY, LS, PAUSE, INSPECT], [], []],
  'The holder lives and does not release': [[KEY, INSPECT, PAUSE, INSPECT], [], [ALIVE]],
  'Free the key': [[KEY], ['npx nestjs-redis-locks release stock:42'], [SAFE]],
  'The key is busy': [
    [KEY, 'npx nestjs-redis-locks inspect stock:42 --json | grep fencingToken'],
    ['grep lock.timeout shop-1.log'],
    ['stuck-key#a-busy-key'],
  ],
  'A cron job is skipped': [
    [SYMPTOMS, 'npx nestjs-redis-locks ls nightly-report'],
    ['grep lock.skipped job-2.log'],
    [],
  ],
  'A cron job never runs': [[ALERT, SYMPTOMS, 'npx nestjs-redis-locks ls --sort held'], [], [SAFE]],
  'A reader holds the key, and a writer waits': [[KEY, 'npx nestjs-redis-locks inspect prices'], [], [ALIVE]],
  'A waiter does not hear that it was granted the lock': [
    [ALERT, 'curl -s http://shop-2/health | grep subscribed'],
    ['npx nestjs-redis-locks doctor -t 2s | grep -A1 pub/sub'],
    ['deploy#connections'],
  ],
  'Two processes wait for each other': [[SYMPTOMS, 'npx nestjs-redis-locks doctor | grep -A1 deadlocks'], [], [SAFE]],
  'Redis refuses the commands': [
    [ALERT, FAILURES, 'grep ERROR shop-1.log'],
    ['npx nestjs-redis-locks doctor | grep -A1 permissions:'],
    ['deploy#permissions'],
  ],
  'Every key looks free': [[SYMPTOMS, 'npx nestjs-redis-locks ls'], ['npx nestjs-redis-locks ls -p shop:lock'], []],
  'A value was written by hand': [
    [ALERT, FAILURES, 'grep ERROR shop-1.log'],
    ['npx nestjs-redis-locks inspect stock:42'],
    [SYMPTOMS],
  ],
  'The old pod stopped before its work was done': [[REASONS, LOG], [], ['deploy#shutdown']],
  'The old pod does not end': [['deploy#shutdown', "grep 'open requests' shop-1.log"], [LS], [ALIVE]],
  'The lease ended while the process was stalled': [[ALERT, REASONS, LOG], [INSPECT], []],
  'Redis forgot the lock': [
    [ALERT, REASONS, LOG],
    [],
    ['deploy#redis-settings', 'npx nestjs-redis-locks doctor | grep -A1 persistence'],
  ],
  'Redis evicted the lock': [
    [ALERT, REASONS, LOST],
    ['npx nestjs-redis-locks doctor | grep -A1 evict'],
    ['deploy#redis-settings'],
  ],
  'A failover': [
    [ALERT, FAILURES, 'grep ERROR shop-1.log'],
    ['npx nestjs-redis-locks doctor | grep -A1 role:'],
    ['failover'],
  ],
  'Redis is full': [
    [ALERT, FAILURES, 'grep ERROR shop-1.log'],
    ['npx nestjs-redis-locks doctor | grep -A1 memory:'],
    ['deploy#redis-settings'],
  ],
  'A clock jumped': [[ALERT, REASONS, LOG], ['npx nestjs-redis-locks doctor | grep -A1 clock:'], ['deploy#clocks']],
};

const countWords = (text) => text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;

/** What is read of a page: a section, or what stands before the first one. Code is looked at, and not read. */
function prose(place) {
  const [page, anchor] = place.split('#');
  const text = readFileSync(new URL(`../../docs/${page}.md`, import.meta.url), 'utf8').replaceAll(
    /^```[^]*?^```$/gm,
    '',
  );
  const parts = text.split(/^(?=## )/m);
  const slug = (part) =>
    /^## (.*)/
      .exec(part)?.[1]
      .toLowerCase()
      .replaceAll(/[^a-z0-9 -]/g, '')
      .replaceAll(' ', '-');
  const part = anchor === undefined ? parts[0] : parts.find((each) => slug(each) === anchor);
  if (part === undefined) throw new Error(`docs/${page}.md has no section #${anchor}`);
  // An address is not read.
  return part.replaceAll(/\]\([^)]*\)/g, '');
}

const isPage = (step) => /^[a-z-]+(#|$)/.test(step);

/**
 * Minutes of each answer in the situations that a drill has played, and the seconds of their commands. `took`: the seconds of
 * a command of a section, as measured; `undefined`: it has not run.
 */
export function minutes(took) {
  const guide = new Guide();
  const timeOf = (section, step) => {
    if (step === PAUSE) return parseInt(PAUSE) / 60;
    if (isPage(step)) return countWords(prose(step)) / WORDS_A_MINUTE;
    const read = countWords(guide.find(section, step).output) / WORDS_A_MINUTE;
    return step.length / CHARACTERS_A_MINUTE + (took(section, step) ?? NaN) / 60 + read;
  };
  return Object.entries(PATHS)
    .map(([section, answers]) => ({
      section,
      minutes: answers.map((steps) => steps.reduce((sum, step) => sum + timeOf(section, step), 0)),
      commands: answers
        .flat()
        .filter((step) => step !== PAUSE && !isPage(step))
        .map((step) => took(section, step)),
    }))
    .filter(({ commands }) => !commands.includes(undefined));
}

const FILE = fileURLToPath(new URL('minutes.md', import.meta.url));
const HEAD = `# Minutes

How long a person on call takes in each situation of the [transcript](transcript.md), with the alert, the guide and the commands alone.
Calculated: ${WORDS_A_MINUTE} words read a minute, ${CHARACTERS_A_MINUTE} characters of a command typed a minute. Measured: how long each command ran,
in the drill or in [Handled](handled.md), which is what a person did who got the same situations without the transcript.
\`npm run drill -- --write\` writes this page, and \`npm run drill\` fails if reading and typing take more than ${GOAL} minutes. A time of
0.0: an earlier output says it already. *Alerts* are those of [alert-rules.yml](../../docs/alert-rules.yml) that promtool has fired, with
one scrape each half second in place of each minute; all others stay quiet.

| situation | what is wrong | who it is | what is safe | commands | alerts |
|---|---|---|---|---|---|
`;

/** Writes the minutes of the situations that were played; other rows stay. `fired`: the alerts by section; without promtool, those of the page stay. */
export function writeMinutes(fired, took) {
  const known = new Map(
    [...readFileSync(FILE, 'utf8').matchAll(/^\| (.*?) \|.*\| (.*?) \|$/gm)].map(([row, name, alerts]) => [
      name,
      { row, alerts },
    ]),
  );
  const played = new Map(minutes(took).map((each) => [each.section, each]));
  const rows = Object.keys(PATHS).map((section) => {
    const each = played.get(section);
    if (each === undefined) return known.get(section)?.row ?? '';
    const alerts = fired.has(section) ? fired.get(section).join(', ') || 'none' : (known.get(section)?.alerts ?? '');
    const seconds = each.commands.reduce((sum, time) => sum + time, 0).toFixed(1);
    const times = each.minutes.map((time) => time.toFixed(1));
    return `| ${section} | ${times.join(' | ')} | ${each.commands.length} in ${seconds} s | ${alerts} |`;
  });
  writeFileSync(FILE, `${HEAD}${rows.join('\n')}\n`);
}
