import { drawHistogram, drawRate } from './charts.js';
import { Connection } from './connection.js';
import { byId, element, show, write } from './dom.js';
import { listIncidents } from './incidents.js';
import { LockTable } from './lock-table.js';
import { ReleaseDialog } from './release-dialog.js';
import { Tiles } from './tiles.js';

/** How often the running times are updated, in ms. */
const TICK = 250;

const STATUS = { live: 'Live', polling: 'Polling', connecting: 'Connecting', offline: 'Offline' };

let instance;
let last;
const tiles = new Tiles();
const dialog = new ReleaseDialog(() => instance);
const table = new LockTable((lock) => dialog.open(lock));
const connection = new Connection({ told, status });

function told(state) {
  last = state;
  offerInstances(state);
  byId('read-only').hidden = !state.readOnly;
  write(byId('process'), `this process, ${state.process.host}:${state.process.pid}, last 5 minutes`);
  show(byId('notice'), state.locks.trouble);
  show(byId('skipped'), state.locks.skipped);
  tiles.update(state);
  table.update(state);
  listIncidents(state.activity.incidents);
  drawCharts();
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

function status(name, error) {
  byId('status').dataset.state = name;
  write(byId('status'), error ?? STATUS[name]);
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
  connection.follow(instance);
});

let width;
new ResizeObserver(([{ contentRect }]) => {
  // Drawing changes the height of the figure, but not its width.
  if (contentRect.width !== width) drawCharts();
  width = contentRect.width;
}).observe(byId('rate'));
setInterval(() => table.tick(), TICK);
connection.follow(undefined);
