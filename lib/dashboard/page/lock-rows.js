import { element, write } from './dom.js';
import { clientName, count, kindName, ownerName, time, visible } from './format.js';

/** A lease with less time left, in ms, is about to end. */
const SHORT_LEASE = 2_000;

/**
 * The rows of one lock: one for each hold, and one for the queue while it is open. They exist as long as the lock is
 * shown.
 */
export class LockRows {
  body = element('tbody', { role: 'rowgroup' });
  #waiting = element('button', { type: 'button', 'aria-expanded': 'false' });
  #release = element('button', { type: 'button' }, 'Release');
  #queue = element('ol');
  #queueRow;
  #holds = [];
  #shape;
  #longest = new Map();
  #open = false;
  #told = 0;

  /** `process`: the process that serves the page. `onRelease` is left out if locks cannot be released. */
  constructor(key, { columns, onRelease }) {
    this.key = key;
    const cell = element('td', { role: 'cell', colspan: columns }, this.#queue);
    this.#queueRow = element('tr', { role: 'row', class: 'queue' }, cell);
    this.#waiting.addEventListener('click', () => this.#toggle());
    this.#release.setAttribute('aria-label', `Release ${visible(key)} by force`);
    this.#release.addEventListener('click', () => onRelease?.(this.lock));
    this.mayRelease = onRelease !== undefined;
  }

  update(lock, process) {
    this.lock = lock;
    this.#told = performance.now();
    const shape = JSON.stringify([
      lock.holders.map(({ owner, client, type, units, kept }) => [owner, client, type, units, kept]),
      lock.holding,
      lock.permits,
      lock.waiting > 0,
      process.client,
    ]);
    if (shape !== this.#shape) this.#build(process);
    this.#shape = shape;
    lock.holders.forEach(({ fencingToken }, i) => write(this.#holds[i].token, String(fencingToken)));
    this.#rememberLongest(lock.holders);
    this.#writeQueue(process);
    this.tick();
  }

  /** Updates the times since the last state. */
  tick() {
    const passed = performance.now() - this.#told;
    this.lock.holders.forEach(({ age, lease, fencingToken }, i) => {
      const { ageText, leaseText, leaseCell, bar } = this.#holds[i];
      const left = Math.max(0, lease - passed);
      write(ageText, time(age + passed));
      write(leaseText, left < 10_000 ? `${(left / 1_000).toFixed(1)} s` : time(left));
      leaseCell.toggleAttribute('data-short', left < SHORT_LEASE);
      bar.style.width = `${Math.min(100, (100 * left) / this.#longest.get(fencingToken))}%`;
    });
  }

  /** The longest lease seen of each hold counts as the full bar. */
  #rememberLongest(holders) {
    this.#longest = new Map(
      holders.map(({ fencingToken, lease }) => [
        fencingToken,
        Math.max(lease, this.#longest.get(fencingToken) ?? 0, 1),
      ]),
    );
  }

  #build(process) {
    const focused = document.activeElement;
    this.#holds = this.lock.holders.map((holder) => holdCells(holder, process));
    const rows = this.#holds.map(({ cells }, i) => this.#row(i, cells));
    this.body.replaceChildren(...(rows.length === 0 ? [this.#row(0, notHeld())] : rows));
    if (this.#open) this.body.append(this.#queueRow);
    // The element was removed and inserted again.
    if (focused === this.#release || focused === this.#waiting) focused.focus();
  }

  #row(i, cells) {
    const { lock } = this;
    const isFirst = i === 0;
    const hidden = lock.holding - lock.holders.length;
    const key = element('td', { role: 'cell', class: 'key' }, isFirst ? visible(lock.key) : '');
    if (isFirst && lock.permits !== undefined) key.append(note(`of ${lock.permits} permits`));
    if (isFirst && hidden > 0) key.append(note(`and ${hidden} more holders`));
    const waiting = labelled('waiting', 'Waiting', isFirst ? (lock.waiting > 0 ? this.#waiting : '0') : '');
    const action = labelled('action', '', isFirst && this.mayRelease && lock.holding > 0 ? this.#release : '');
    return element('tr', { role: 'row' }, key, ...cells, waiting, action);
  }

  #toggle() {
    this.#open = !this.#open;
    this.#waiting.setAttribute('aria-expanded', String(this.#open));
    if (this.#open) this.body.append(this.#queueRow);
    else this.#queueRow.remove();
  }

  #writeQueue(process) {
    const { waiters, waiting } = this.lock;
    write(this.#waiting, count(waiting));
    this.#waiting.setAttribute('aria-label', `${waiting} waiting for ${visible(this.key)}`);
    if (waiting === 0 && this.#open) this.#toggle();
    const items = waiters.map((waiter) =>
      element(
        'li',
        {},
        kindBadge(waiter),
        element('span', { class: 'owner' }, ownerName(waiter)),
        element('span', { class: 'client' }, placeOf(waiter, process)),
      ),
    );
    if (waiting > waiters.length) items.push(element('li', {}, `and ${count(waiting - waiters.length)} more`));
    this.#queue.replaceChildren(...items);
  }
}

function holdCells(holder, process) {
  const token = labelled('token', 'Token', String(holder.fencingToken));
  const ageText = labelled('age', 'For', '');
  const leaseText = element('span', {});
  const bar = element('i');
  const leaseCell = labelled(
    'lease',
    'Lease left',
    element('span', {}, leaseText, element('span', { class: 'bar', 'aria-hidden': 'true' }, bar)),
  );
  const owner = element('span', {}, ownerName(holder), element('span', { class: 'client' }, placeOf(holder, process)));
  const kind = labelled('kind', 'Held', kindBadge(holder));
  return {
    cells: [kind, labelled('owner', 'By', owner), ageText, leaseCell, token],
    token,
    ageText,
    leaseText,
    leaseCell,
    bar,
  };
}

const notHeld = () => [
  labelled('kind', 'Held', element('span', { class: 'badge' }, 'not held')),
  ...['By', 'For', 'Lease left', 'Token'].map((label) => labelled('', label, '')),
];

/** Labels stand before values if there are no headings. */
const labelled = (name, label, child) => element('td', { role: 'cell', class: name, 'data-label': label }, child);

const note = (text) => element('span', { class: 'more' }, text);

function kindBadge(holder) {
  const name = holder.kept ? `${kindName(holder)}, kept` : kindName(holder);
  return element('span', { class: 'badge', 'data-kind': holder.kept ? 'kept' : holder.type }, name);
}

/** The client. For the process that serves this page, also the host and process id. */
const placeOf = ({ client }, process) =>
  client === process.client
    ? `client ${clientName(client)} · ${process.host}:${process.pid}`
    : `client ${clientName(client)}`;
