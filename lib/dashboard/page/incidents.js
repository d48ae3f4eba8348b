import { byId, element, span } from './dom.js';
import { callName, clientName, count, moment, time, visible } from './format.js';

/** What has happened, in words. */
export const WHAT = { lost: 'lost', timeout: 'timeout', unreleased: 'not released', released: 'released' };

const shown = new Map();

/** Lists the incidents, the newest first. */
export const listIncidents = (incidents) => list('incidents', incidents, (each) => [each.type, storyOf(each)]);

/** Lists the last holders, the newest first. */
export const listHolds = (holds) => list('holds', holds, (each) => [each.end ?? 'held', holdStory(each)]);

function list(id, calls, telling) {
  const news = JSON.stringify(calls);
  if (news === shown.get(id)) return;
  shown.set(id, news);
  byId(id).replaceChildren(...calls.map((call) => itemOf(call, ...telling(call))));
  byId(`no-${id}`).hidden = calls.length > 0;
}

function itemOf(call, kind, story) {
  const { at, key } = call;
  const name = span('key', visible(key));
  const about = callName(call, key);
  if (about !== '') name.append(span('more', about));
  return element(
    'li',
    {},
    element('time', { datetime: new Date(at).toISOString() }, moment(at)),
    element('span', { class: 'badge', 'data-kind': kind }, (WHAT[kind] ?? kind) + timesOf(call)),
    name,
    span('why', story),
  );
}

export function storyOf(incident) {
  const { type, took, reason, lossReason, kind, holder, times } = incident;
  const by = visible(incident.name);
  const last = times > 1 ? 'Last: ' : '';
  if (type === 'timeout') return `${last}${by} timed out after ${time(took)}${holderOf(', held by', holder)}`;
  const held = `${last}held by ${by} (${kind}) for ${time(took)}`;
  const word = lossReason === undefined ? '' : ` (${lossReason})`;
  return reason === undefined ? held : `${held}: ${why(reason)}${word}${holderOf(', then held by', holder)}`;
}

const timesOf = ({ times }) => (times > 1 ? ` × ${count(times)}` : '');

export function holdStory(hold) {
  const { waited, previousHolder, held, reason, kind } = hold;
  const wait = waited === undefined ? '' : `waited ${time(waited)}${holderOf(' for', previousHolder)}, `;
  const story = `${visible(hold.name)} (${kind}): ${wait}${held === undefined ? 'still held' : `held ${time(held)}`}`;
  return reason === undefined ? story : `${story}: ${why(reason)}`;
}

/** Without the key, which stands before it. */
const why = (reason) => visible(reason).replace(/^the lock '.*' is not held any more: /, '');

/** `holder`: a label, or the id of a client. */
function holderOf(words, holder) {
  if (holder === undefined) return '';
  return `${words} ${/^[0-9a-f]{32}$/.test(holder) ? `client ${clientName(holder)}` : visible(holder)}`;
}
