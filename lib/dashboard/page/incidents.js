import { byId, element } from './dom.js';
import { clock, ownerName, time, visible } from './format.js';

const WHAT = { lost: 'lost', timeout: 'timeout', unreleased: 'not released' };

let shown = '';

/** Lists the incidents, the newest first. */
export function listIncidents(incidents) {
  const news = JSON.stringify(incidents);
  if (news === shown) return;
  shown = news;
  byId('incidents').replaceChildren(...incidents.map(itemOf));
  byId('no-incidents').hidden = incidents.length > 0;
}

function itemOf(incident) {
  const { type, at, key, pattern } = incident;
  const name = element('span', { class: 'key' }, visible(key));
  if (pattern !== undefined && pattern !== key) name.append(element('span', { class: 'more' }, visible(pattern)));
  return element(
    'li',
    {},
    element('time', { datetime: new Date(at).toISOString() }, clock(at)),
    element('span', { class: 'badge', 'data-kind': type }, WHAT[type]),
    name,
    element('span', { class: 'why' }, storyOf(incident)),
  );
}

function storyOf({ type, took, reason, lockType, owner }) {
  const by = owner === undefined ? '' : ` by ${acquisitionName(owner)}`;
  if (type === 'timeout') return `timed out${by} after ${time(took)}`;
  const held = `held${by} (${lockType}) for ${time(took)}`;
  return reason === undefined ? held : `${held}: ${visible(reason)}`;
}

/** Like `ownerName`, if the client is unknown: an acquisition's id begins with it. */
function acquisitionName(owner) {
  const [, client = ''] = /^([0-9a-f]{32}):\d+$/.exec(owner) ?? [];
  return ownerName({ owner, client });
}
