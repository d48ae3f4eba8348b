import { setTimeout as sleep } from 'node:timers/promises';
import { count, line, table, time } from './demo-report.mjs';
import { StepFailed } from './run.mjs';

/** How late the clock of a replica may be. */
const CLOCK_SKEW = 300;

const LONG_LIST = { name: 'catalogue', rows: 160 };
const SHORT_LISTS = ['furniture', 'textiles', 'lighting'].map((name) => ({ name, rows: 60 }));

/** The time that a follower may need beyond the lease: a timer, a round trip, and patience with a busy machine. */
const TAKEOVER_MARGIN = 250;
const PATIENCE = 20_000;

/** The nightly job on all processes at once, and once more a little later, as by clocks that are behind. */
export async function runNight(shops, results, night) {
  const trigger = () => Promise.all(shops.map((shop) => shop.ask('POST', '/jobs/nightly')));
  const answers = [...(await trigger()), ...(await sleep(CLOCK_SKEW).then(trigger))];
  const { daysClosed } = await shops[0].ask('GET', '/jobs/nightly');
  const ran = answers.filter((answer) => answer.ran).length;

  const triggered = `triggered ${times(answers.length)} on ${shops.length} processes`;
  line(`${triggered}: ran ${times(ran)}, skipped ${times(answers.length - ran)}`);
  results.note(`night ${night}`, `the job was ${triggered} and ran ${times(ran)}`);
  results.check(
    night === 1 ? 'The nightly job ran once, although every process started it.' : 'The next night, it ran once again.',
    ran === 1 && daysClosed === night,
    `it ran ${times(ran)}, and after night ${night} it has been done ${times(daysClosed)}`,
  );
}

/** An import that takes longer than its lease, while another process wants to start the same one. */
export async function runLongImport([first, second], results, lease) {
  const renewalsBefore = await countEvents(first, 'renewed');
  const importing = runImport(first, LONG_LIST);
  // By then a lease that is not renewed has ended.
  await rowsDone(first, LONG_LIST, LONG_LIST.rows / 2, importing);
  const asked = Date.now();
  const [run, next] = await Promise.all([importing, runImport(second, LONG_LIST)]);
  const renewals = (await countEvents(first, 'renewed')) - renewalsBefore;
  const took = run.endedAt - run.startedAt;

  table(
    ['', first.name, second.name],
    [
      ['waited for the lock', '-', time(next.startedAt - asked)],
      ['held it for', time(took), time(next.endedAt - next.startedAt)],
      [`renewed its lease of ${time(lease)}`, times(renewals), '-'],
      ['rows imported', count(run.rows - run.firstRow), count(next.rows - next.firstRow)],
    ],
  );
  line();
  results.note('long import', `took ${time(took)} on a lease of ${time(lease)}, which was renewed ${times(renewals)}`);
  results.check(
    'The import took longer than its lease, and kept the lock, because the lease was renewed.',
    took > 2 * lease && renewals >= Math.floor(took / lease) && run.firstRow === 0,
    `${times(renewals)} in ${time(took)}`,
  );
  results.check(
    'No other process had the lock meanwhile, and the next holder got a larger fencing token.',
    next.startedAt >= run.endedAt && next.firstRow === LONG_LIST.rows && next.fencingToken > run.fencingToken,
    `the second began ${time(next.startedAt - run.startedAt)} after the first, at row ${next.firstRow}`,
  );
}

/** Kills a process that holds locks while the others wait for them. */
export async function killHolder([victim, ...others], results, lease) {
  const { killedAt, rowsLeft, runs } = await killWhileOthersWait(victim, others);
  const takeovers = SHORT_LISTS.map((list, i) => takeover(list, runs[i], rowsLeft[i], killedAt, others));
  const latest = Math.max(...takeovers.map(({ after }) => after));

  line(
    `${victim.name} held ${takeovers.length} locks, and ${others.length} others waited for each, when it was killed`,
  );
  line();
  table(
    ['import', 'taken over by', 'after', 'at row', 'then handed to', 'within'],
    takeovers.map((t) => [t.list.name, t.by, time(t.after), `${t.row} of ${t.list.rows}`, t.next, time(t.handoff)]),
  );
  line();
  results.note('killed holder', `the others waited ${time(latest)} at most, with a lease of ${time(lease)}`);
  results.check(
    `The waiters got the locks when the lease of the killed process (${time(lease)}) was over, or at most ${time(TAKEOVER_MARGIN)} later.`,
    latest <= lease + TAKEOVER_MARGIN,
    `it took ${time(latest)}`,
  );
  results.check(
    'They continued where the killed process had stopped, in order of arrival.',
    takeovers.every(({ isInOrder }) => isInOrder),
    takeovers.map((t) => `${t.list.name}: at row ${t.row}, then after ${time(t.handoff)}`).join('; '),
  );
}

async function killWhileOthersWait(victim, others) {
  // The killed process does not answer.
  const doomed = SHORT_LISTS.map((list) => runImport(victim, list).catch((error) => error));
  await Promise.all(SHORT_LISTS.map((list, i) => rowsDone(victim, list, 1, doomed[i])));

  // One after the other, and for each lock another one is the first.
  const runs = SHORT_LISTS.map(() => []);
  for (const turn of others.keys()) {
    const before = await countWaits(others);
    for (const [i, list] of SHORT_LISTS.entries()) {
      const run = runImport(others[(i + turn) % others.length], list);
      // A failure is dealt with when all are awaited.
      run.catch(() => {});
      runs[i].push(run);
    }
    await until('the others wait', async () => (await countWaits(others)) >= before + SHORT_LISTS.length);
  }
  const rowsLeft = await Promise.all(SHORT_LISTS.map((list) => progress(others[0], list)));
  const killedAt = Date.now();
  victim.kill();
  return { killedAt, rowsLeft, runs: await Promise.all(runs.map((run) => Promise.all(run))) };
}

/** How the imports of a list went, in the order in which they had been started. */
function takeover(list, [first, last], rowsLeft, killedAt, shops) {
  const nameOf = (run) => shops.find(({ pid }) => pid === run.pid).name;
  const handoff = last.startedAt - first.endedAt;
  return {
    list,
    by: nameOf(first),
    next: nameOf(last),
    after: first.startedAt - killedAt,
    row: first.firstRow,
    handoff,
    isInOrder:
      first.firstRow >= rowsLeft &&
      first.firstRow < list.rows &&
      last.firstRow === list.rows &&
      last.fencingToken > first.fencingToken &&
      handoff >= 0,
  };
}

const runImport = (shop, { name, rows }) => shop.ask('POST', `/jobs/import/${name}`, { rows });
const progress = async (shop, { name }) => (await shop.ask('GET', `/jobs/import/${name}`)).rowsDone;
const countEvents = async (shop, type) => (await shop.ask('GET', '/metrics/locks')).events[type] ?? 0;
const countWaits = async (shops) => {
  const counts = await Promise.all(shops.map((shop) => countEvents(shop, 'contended')));
  return counts.reduce((sum, each) => sum + each, 0);
};

/** Resolves when an import has got so far; rejects when it fails on the way. */
async function rowsDone(shop, list, rows, importing) {
  const failure = importing.then((end) => (end instanceof Error ? Promise.reject(end) : new Promise(() => {})));
  const isDone = async () => (await progress(shop, list)) >= rows;
  await Promise.race([until(`${shop.name} has imported ${rows} rows`, isDone), failure]);
}

async function until(what, isTrue) {
  const deadline = Date.now() + PATIENCE;
  while (!(await isTrue())) {
    if (Date.now() > deadline) throw new StepFailed(`Gave up after ${time(PATIENCE)} of waiting until ${what}.`);
    await sleep(25);
  }
}

const times = (number) => (number === 1 ? 'once' : `${number} times`);
