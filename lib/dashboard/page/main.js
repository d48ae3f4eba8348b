import { drawHistogram, drawRate } from './charts.js';
import { Connection } from './connection.js';
import { byId, element, show, write } from './dom.js';
import { clock, processName, sum, time } from './format.js';
import { listHolds, listIncidents } from './incidents.js';
import { LockTable } from './lock-table.js';
import { newsOf } from './news.js';
import { ReleaseDialog } from './release-dialog.js';
import { Tiles } from './tiles.js';

/** How often the running times are updated, in ms. */
const TICK = 250;

const STATUS = { live: 'Live', polling: 'Polling', connecting: 'Connecting', offline: 'Offline' };

let instance;
let last;
/** When the last state arrived. */
let told;
/** How the states arrive, or why they do not. */
let way = { name: 'connecting' };
const tiles = new Tiles();
const dialog = new ReleaseDialog(() => instance);
const table = new LockTable({ onRelease: (lock, hold) => dialog.open(lock, hold), onQuery: follow });
const connection = new Connection({
  told: showState,
  status(name, error) {
    way = { name, error };
    tellAge();
  },
});

function follow() {
  connection.follow({ instance, ...table.query });
}

function showState(state) {
  last = state;
  told = performance.now();
  offerInstances(state);
  byId('read-only').hidden = !state.readOnly;
  const place = processName(state);
  write(byId('process'), `${place}, last 5 minutes`);
  for (const node of document.querySelectorAll('.of-process')) write(node, `of ${place} only`);
  show(byId('skipped'), state.locks.skipped);
  tellAge();
  tiles.update(state);
  document.body.toggleAttribute('data-new', isNew(state));
  table.update(state);
  listHolds(state.activity.holds);
  listIncidents(state.activity.incidents);
  drawCharts();
}

/** Nothing has been locked yet, as far as this page can tell. */
const isNew = ({ locks: { totals }, activity: { acquired, holds, incidents } }) =>
  totals.locks === 0 && holds.length === 0 && incidents.length === 0 && sum(acquired) === 0;

/** Says what is unreachable and since when, and marks what is shown as old. Continues even if no state arrives. */
function tellAge() {
  const now = performance.now();
  const news = newsOf({ last, told, way, now });
  document.body.dataset.stale = news.stale;
  byId('status').dataset.state = news.stale === '' ? way.name : 'offline';
  write(byId('status'), news.status ?? way.error ?? STATUS[way.name]);
  show(byId('notice'), news.notice);
  write(
    byId('held-at'),
    news.stale === ''
      ? 'all processes'
      : `all processes, as of ${clock(Date.now() - news.age)} (${time(news.age)} ago)`,
  );
  table.setStale(news.stale !== '');
}

function drawCharts() {
  if (last === undefined) return;
  const { activity } = last;
  const { buckets, wait, hold } = activity;
  drawRate('rate', activity);
  drawHistogram('wait', 'Wait', {
    buckets,
    series: [
      { look: 'series-0', name: 'free', counts: wait.free },
      { look: 'series-1', name: 'contended', counts: wait.contended },
    ],
  });
  drawHistogram('hold', 'Hold', {
    buckets,
    series: [
      { look: 'series-1', name: 'released', counts: hold.released },
      { look: 'series-bad', name: 'lost', counts: hold.lost },
    ],
  });
}

function offerInstances({ instances, instance: shown }) {
  const choice = byId('instance');
  byId('instance-choice').hidden = instances.length < 2;
  const names = [...choice.options].map(({ value }) => value);
  if (names.join('\n') !== instances.join('\n')) {
    choice.replaceChildren(...instances.map((name) => element('option', { value: name }, name)));
  }
  instance = shown;
  choice.value = shown;
}

byId('instance').addEventListener('change', ({ target }) => {
  instance = target.value;
  table.clear();
  follow();
});

let width;
new ResizeObserver(([{ contentRect }]) => {
  // Drawing changes the height of the figure, but not its width.
  if (contentRect.width !== width) drawCharts();
  width = contentRect.width;
}).observe(byId('rate'));
setInterval(() => {
  tellAge();
  table.tick();
}, TICK);
follow();
