import { byId, element } from './dom.js';
import { clock, kindName, time, visible } from './format.js';

const WHAT = { lost: 'lost', timeout: 'timeout', unreleased: 'not released' };

let shown = '';

/** Lists what went wrong, the newest first. */
export function listIncidents(incidents) {
  const news = JSON.stringify(incidents);
  if (news === shown) return;
  shown = news;
  byId('incidents').replaceChildren(...incidents.map(itemOf));
  byId('no-incidents').hidden = incidents.length > 0;
}

function itemOf(incident) {
  const { type, at, key, pattern, owner } = incident;
  const key_ = element('span', { class: 'key' }, visible(key));
  if (pattern !== undefined && pattern !== key) key_.append(element('span', { class: 'more' }, visible(pattern)));
  const by = owner === undefined ? '' : ` by ${visible(owner)}`;
  return element(
    'li',
    {},
    element('time', { datetime: new Date(at).toISOString() }, clock(at)),
    element('span', { class: 'badge', 'data-kind': type }, WHAT[type]),
    key_,
    element('span', { class: 'why' }, `${storyOf(incident)}${by}`),
  );
}

function storyOf({ type, took, reason, lockType }) {
  if (type === 'timeout') return `gave up after ${time(took)}`;
  const held = `held ${kindName({ type: lockType, permits: 1 })} for ${time(took)}`;
  return reason === undefined ? held : `${held}: ${visible(reason)}`;
}
