import { callName, count, moment, processName, sum, time, visible } from '../../lib/dashboard/page/format.js';
import { holdStory, storyOf, WHAT } from '../../lib/dashboard/page/incidents.js';
import { waitOf } from '../../lib/dashboard/page/lock-rows.js';
import { whyEmpty } from '../../lib/dashboard/page/lock-table.js';
import { newsOf } from '../../lib/dashboard/page/news.js';

/** Without an answer after so many ms, the page counts as offline. */
const PATIENCE = 10_000;
/** How many of the last holders are shown. */
const HOLDS = 3;

/** The dashboard that one process serves: the data that its page receives, as lines, in the words of the page. */
export class Dashboard {
  #url;
  /** The last state, and when it arrived. */
  #last;
  #told;
  #arrived;

  constructor(url) {
    this.#url = url;
  }

  async read() {
    const response = await fetch(`${this.#url}/locks/state`, { signal: AbortSignal.timeout(PATIENCE) });
    if (!response.ok) throw new Error(`the dashboard answers ${response.status}`);
    this.#last = await response.json();
    this.#told = performance.now();
    this.#arrived = Date.now();
  }

  /** Everything that the page shows, without charts; or `part`: the last holders. */
  async show(part) {
    let way = { name: 'polling' };
    try {
      await this.read();
    } catch (error) {
      if (this.#last === undefined) throw error;
      way = { name: 'offline' };
    }
    const [last, told] = [this.#last, this.#told];
    if (part === 'last holders') return lines(last.activity.holds.slice(0, HOLDS).map(holdLine));
    const news = newsOf({ last, told, way, now: performance.now() });
    const { locks, activity } = last;
    return lines([
      ...[news.notice, locks.skipped].filter((text) => text !== undefined),
      tilesOf(last),
      ...(locks.list.length === 0
        ? [whyEmpty(locks)]
        : tableOf(locks.list, { stale: news.stale !== '', at: this.#arrived })),
      ...activity.incidents.map((each) => line(each, WHAT[each.type], storyOf(each))),
    ]);
  }
}

const lines = (texts) => texts.map((text) => `${text}\n`).join('');

function tilesOf(state) {
  const { totals } = state.locks;
  const all = `Held ${count(totals.holding)}, Waiting ${count(totals.waiting)} (all processes)`;
  const { timeouts, lost } = state.activity;
  return `${all}, Timeouts ${count(sum(timeouts))}, Lost ${count(sum(lost))} (${processName(state)})`;
}

const HEAD = ['Key', 'Held', 'By', 'For', 'Lease left', 'Waiting'];

function tableOf(locks, reading) {
  const rows = locks.flatMap((lock) => lock.holders.map((holder, i) => rowOf(lock, holder, { ...reading, i })));
  const widths = HEAD.map((name, i) => Math.max(name.length, ...rows.map((row) => row[i].length)));
  const table = [HEAD, ...rows].map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i]))
      .join('  ')
      .trimEnd(),
  );
  return [...table, ...locks.flatMap(({ key, waiters }) => waiters.map((each, i) => placeOf(each, i, key)))];
}

function rowOf({ key, waiting, ago }, holder, { stale, at, i }) {
  const { age, lease, overdue } = holder;
  // What is known no longer does not run on.
  const passed = stale ? 0 : ago;
  const was = stale ? 'was ' : '';
  return [
    i === 0 ? visible(key) : '',
    holder.kept ? `${holder.kindName}, kept` : holder.kindName,
    nameOf(holder, key),
    `${was}${time(age + passed)}, since ${moment(at - age - ago)}`,
    `${was}${time(Math.max(0, lease - passed))}${overdue ? ', renewal overdue' : ''}`,
    i === 0 ? count(waiting) : '',
  ];
}

const placeOf = (waiter, i, key) => `${i + 1}. ${waiter.kindName} ${nameOf(waiter, key)} ${waitOf(waiter)}`;

/** The owner that the caller named, the label of its process, and the call. */
function nameOf(party, key) {
  const { label, connected } = party;
  const name = visible(party.name);
  const connection = connected === false ? 'not connected' : '';
  const parts = [name, label === undefined || name === label ? '' : label, callName(party, key), connection];
  return parts.filter(Boolean).join(' · ');
}

const line = (call, kind, story) => `${moment(call.at)}  ${kind}  ${visible(call.key)}  ${story}`;
const holdLine = (hold) => line(hold, hold.end === undefined ? 'held' : WHAT[hold.end], holdStory(hold));
