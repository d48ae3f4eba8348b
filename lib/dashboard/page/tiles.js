import { byId, element, write } from './dom.js';
import { count, rate, sum } from './format.js';

const ALL = 'all processes';
const HERE = 'this process, 5 min';

/** The content of each tile. A tone marks a value that needs attention. */
const TILES = [
  { name: 'Held', of: ALL, value: ({ locks }) => sum(locks.list.map(({ holding }) => holding)) },
  {
    name: 'Waiting',
    of: ALL,
    value: ({ locks }) => sum(locks.list.map(({ waiting }) => waiting)),
    tone: (value) => (value > 0 ? 'warning' : undefined),
  },
  { name: 'Acquired per minute', of: HERE, value: ({ activity }) => perMinute(activity), text: rate },
  { name: 'Timeouts', of: HERE, value: ({ activity }) => sum(activity.timeouts), tone: toned('warning') },
  { name: 'Lost', of: HERE, value: ({ activity }) => sum(activity.lost), tone: toned('bad') },
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
    const value = element('span', { class: 'value' }, '–');
    const node = element(
      'div',
      { class: 'tile' },
      element('dt', {}, tile.name),
      element('dd', {}, value, element('div', { class: 'of' }, tile.of)),
    );
    byId('tiles').append(node);
    return { ...tile, node, at: value };
  });

  update(state) {
    const seen = { ...state, activity: { ...state.activity, at: state.at } };
    for (const { value, text = count, tone, node, at } of this.#tiles) {
      const number = value(seen);
      write(at, text(number));
      node.dataset.tone = tone?.(number) ?? '';
    }
  }
}
