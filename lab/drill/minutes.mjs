import { readFileSync } from 'node:fs';
import { Guide } from './guide.mjs';

/** How fast a person reads, and types a command. The time that commands run is not counted: a busy machine stretches it. */
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
 * The situations in which an answer takes a person on call longer than `GOAL` minutes, with the alert, the guide and the
 * commands alone.
 * @returns {string[]}
 */
export function slowSections() {
  const guide = new Guide();
  const timeOf = (section, step) => {
    if (step === PAUSE) return parseInt(PAUSE) / 60;
    if (isPage(step)) return countWords(prose(step)) / WORDS_A_MINUTE;
    return step.length / CHARACTERS_A_MINUTE + countWords(guide.find(section, step).output) / WORDS_A_MINUTE;
  };
  const isSlow = (section) => (steps) => steps.reduce((sum, step) => sum + timeOf(section, step), 0) > GOAL;
  return Object.keys(PATHS).filter((section) => PATHS[section].some(isSlow(section)));
}
