import { byId, element, span, write } from './dom.js';
import { count, processName, rate, sum, time } from './format.js';

/** All processes: the counts of the whole store, with the age of their oldest part. */
const ofAll = ({ locks: { totals } }) =>
  totals.age < 1_500 ? 'all processes' : `all processes, ${time(totals.age)} ago`;
/** Other processes show one place in the queue for all their callers. */
const ofCallers = ({ locks: { totals } }) =>
  `here + other processes${totals.age < 1_500 ? '' : `, ${time(totals.age)} ago`}`;
const ofThis = (state) => `${processName(state)}, 5 min`;
const atLeast = (number, { locks: { totals } }) => count(number) + (totals.capped || !totals.complete ? '+' : '');

/** The content of each tile. A tone marks a value that needs attention. */
const TILES = [
  { name: 'Held', of: ofAll, value: ({ locks }) => locks.totals.holding, text: atLeast },
  {
    ...{ name: 'Waiting', of: ofCallers, text: atLeast },
    value: ({ locks }) => locks.totals.waiting,
    tone: (value) => (value > 0 ? 'warning' : undefined),
  },
  {
    name: 'Acquired per minute',
    of: ofThis,
    value: ({ activity }) => perMinute(activity),
    text: (number) => rate(number),
  },
  { name: 'Timeouts', of: ofThis, value: ({ activity }) => sum(activity.timeouts), tone: toned('warning') },
  { name: 'Lost', of: ofThis, value: ({ activity }) => sum(activity.lost), tone: toned('bad') },
];

function toned(tone) {
  return (value) => (value > 0 ? tone : undefined);
}

/** Over the window, or over the time since the recording began. */
function perMinute({ acquired, window, since, at }) {
  const seen = Math.min(window, Math.max(at - since, 1_000));
  return (sum(acquired) * 60_000) / seen;
}

export class Tiles {
  #tiles = TILES.map((tile) => {
    const value = span('value', '–');
    const of = element('div', { class: 'of' });
    const node = element('div', { class: 'tile' }, element('dt', {}, tile.name), element('dd', {}, value, of));
    byId('tiles').append(node);
    return { ...tile, node, at: value, place: of };
  });

  update(state) {
    const seen = { ...state, activity: { ...state.activity, at: state.at } };
    for (const { value, text = count, tone, of, node, at, place } of this.#tiles) {
      const number = value(seen);
      write(at, text(number, state));
      write(place, of(state));
      node.dataset.tone = tone?.(number) ?? '';
      node.classList.toggle('of-all', of === ofAll);
    }
  }
}
