import { button, element, span, write } from './dom.js';
import { callName, clientName, count, moment, time, visible } from './format.js';

/** How many holds of a lock have a row, unless the page shows the details of the lock. */
const FEW_HOLDS = 3;

/**
 * The rows of one lock: one for each hold, and one for the queue while it is open. They exist as long as the lock is
 * shown.
 */
export class LockRows {
  body = element('tbody', { role: 'rowgroup' });
  #waiting = button('', { 'aria-expanded': 'false' }, () => this.#toggle());
  #queue = element('ol');
  #queueRow;
  #holds = [];
  #shape;
  #open = false;
  #told = 0;

  /** `onRelease` is left out if locks cannot be released. */
  constructor(key, { columns, onRelease, onKey }) {
    this.key = key;
    this.onKey = onKey;
    const cell = element('td', { role: 'cell', colspan: columns }, this.#queue);
    this.#queueRow = element('tr', { role: 'row', class: 'queue' }, cell);
    this.onRelease = onRelease;
  }

  /** `place`: the process that serves the page, the labels of several clients, and whether details are shown. */
  update(lock, place, stale) {
    this.lock = lock;
    this.#told = performance.now();
    const shown = lock.holders.slice(0, place.isDetailed ? Infinity : FEW_HOLDS);
    const shape = JSON.stringify([
      shown.map(({ id, kindName, kept, label, method, connected }) => [
        ...[id, kindName, kept, label, method, connected, place.ambiguous.has(label)],
      ]),
      lock.holding,
      lock.permits,
      lock.waiting > 0,
      place.process.client,
    ]);
    if (shape !== this.#shape) this.#build(shown, place);
    this.#shape = shape;
    this.#writeQueue(place);
    this.tick(stale);
  }

  /** Updates the times since the lock was read. What is known no longer does not run on: it says what was. */
  tick(stale) {
    const passed = stale ? 0 : this.lock.ago + performance.now() - this.#told;
    const was = stale ? 'was ' : '';
    this.#holds.forEach((hold, i) => {
      const { age, lease, longest, overdue } = this.lock.holders[i];
      const { ageText, sinceText, leaseText, leaseCell, bar, late } = hold;
      const left = Math.max(0, lease - passed);
      write(ageText, age === undefined ? '' : was + time(age + passed));
      // Two readings differ a little. The text stays the same.
      const since = Date.now() - age - passed;
      if (age !== undefined && !stale && !(Math.abs(since - hold.since) < 1_500)) hold.since = since;
      write(sinceText, hold.since === undefined ? '' : `since ${moment(hold.since)}`);
      write(leaseText, was + (left < 10_000 ? `${(left / 1_000).toFixed(1)} s` : time(left)));
      leaseCell.toggleAttribute('data-short', overdue);
      write(late, overdue ? 'renewal overdue' : '');
      bar.style.width = `${Math.min(100, (100 * left) / Math.max(1, longest))}%`;
    });
  }

  #build(holders, place) {
    const focused = document.activeElement;
    const wasIn = this.body.contains(focused) && focused.closest('.action') !== null;
    this.#holds = holders.map((holder) => holdCells(holder, { ...place, key: this.key }));
    const rows = this.#holds.map(({ cells }, i) => this.#row(i, cells));
    this.body.replaceChildren(...(rows.length === 0 ? [this.#row(0, notHeld())] : rows));
    if (this.#open) this.body.append(this.#queueRow);
    // The element was removed and inserted again.
    if (focused === this.#waiting) focused.focus();
    else if (wasIn) this.body.querySelector('.action button')?.focus();
  }

  #row(i, cells) {
    const { lock } = this;
    const isFirst = i === 0;
    const hidden = lock.holding - this.#holds.length;
    const key = element('td', { role: 'cell', class: 'key' }, isFirst ? this.#keyButton() : '');
    if (isFirst && lock.permits !== undefined) key.append(span('more', `of ${lock.permits} permits`));
    if (isFirst && hidden > 0) key.append(span('more', `and ${hidden} more holders`));
    const waiting = labelled('waiting', 'Waiting', isFirst ? (lock.waiting > 0 ? this.#waiting : '0') : '');
    const action = labelled('action', '', '');
    if (this.onRelease !== undefined && lock.holding > 0) action.append(...this.#releases(i));
    return element('tr', { role: 'row' }, key, ...cells, waiting, action);
  }

  #keyButton() {
    const title = 'Show only this key and its last holders';
    return button(visible(this.key), { title }, () => this.onKey(this.key));
  }

  /** One button for each hold, and one more for all of them. */
  #releases(i) {
    const name = visible(this.key);
    if (this.lock.holding === 1) return [this.#releaseButton('Release', `Release ${name} by force`, 0)];
    const one = this.#releaseButton('Release', `Release hold ${i + 1} of ${name} by force`, i);
    return i > 0 ? [one] : [one, ' ', this.#releaseButton('All', `Release all holds of ${name} by force`)];
  }

  #releaseButton(text, label, i) {
    return button(text, { 'aria-label': label }, () => this.onRelease(this.lock, this.lock.holders[i]));
  }

  #toggle() {
    this.#open = !this.#open;
    this.#waiting.setAttribute('aria-expanded', String(this.#open));
    if (this.#open) this.body.append(this.#queueRow);
    else this.#queueRow.remove();
  }

  #writeQueue(place) {
    const { waiters, waiting } = this.lock;
    write(this.#waiting, count(waiting));
    this.#waiting.setAttribute('aria-label', `${waiting} waiting for ${visible(this.key)}`);
    if (waiting === 0 && this.#open) this.#toggle();
    const items = waiters.map((waiter) =>
      element(
        'li',
        {},
        kindBadge(waiter),
        span('owner', visible(waiter.name)),
        ...detailsOf(waiter, { ...place, key: this.key }),
        span('client', waitOf(waiter)),
      ),
    );
    if (waiting > waiters.length) items.push(element('li', {}, `and ${count(waiting - waiters.length)} more`));
    this.#queue.replaceChildren(...items);
  }
}

/** The cells of a hold, and the parts of them that change with time. */
function holdCells(holder, place) {
  const ageText = span();
  const sinceText = span('more detail');
  const age = labelled('age', 'For', span(undefined, ageText, sinceText));
  const leaseText = span();
  const bar = element('i');
  const late = span('late');
  const barOfLease = element('span', { class: 'bar', 'aria-hidden': 'true' }, bar);
  const leaseCell = labelled('lease', 'Lease left', span(undefined, leaseText, barOfLease, late));
  const owner = span(undefined, visible(holder.name), ...detailsOf(holder, place));
  // A narrow cell cuts the text.
  owner.title = [...owner.childNodes].map(({ textContent }) => textContent).join(' · ');
  const kind = labelled('kind', 'Held', kindBadge(holder));
  const cells = [kind, labelled('owner', 'By', owner), age, leaseCell];
  return { cells, ageText, sinceText, leaseText, leaseCell, bar, late };
}

const notHeld = () => [
  labelled('kind', 'Held', span('badge', 'not held')),
  ...['By', 'For', 'Lease left'].map((label) => labelled('', label, '')),
];

/** Labels stand before values if there are no headings. */
const labelled = (name, label, child) => element('td', { role: 'cell', class: name, 'data-label': label }, child);

function kindBadge(holder) {
  const name = holder.kept ? `${holder.kindName}, kept` : holder.kindName;
  return element('span', { class: 'badge', 'data-kind': holder.kept ? 'kept' : holder.kind }, name);
}

/**
 * What was called, and by which client: its label, or host and id of the process that serves this page. The id of the
 * client is a detail if the rest tells it apart.
 */
function detailsOf(party, { process, ambiguous, key }) {
  const { client, label } = party;
  const where = label ?? (client === process.client ? `${process.host}:${process.pid}` : undefined);
  const id = span(where === undefined || ambiguous.has(label) ? 'id' : 'id detail');
  const call = callName(party, key);
  const isNamed = where !== undefined && where !== party.name;
  id.append(`${isNamed ? ' · ' : ''}client ${clientName(client)}`);
  return [
    ...(call === '' ? [] : [span('client', call)]),
    span('client', isNamed ? visible(where) : '', id),
    ...connectionOf(party),
  ];
}

/** A client that is not connected stands out. */
function connectionOf({ connected }) {
  if (connected === undefined) return [];
  return [connected ? span('client detail', 'connected') : span('late', 'not connected')];
}

export const waitOf = ({ age }) => (age === undefined ? '' : `waiting for ${time(age)}`);
