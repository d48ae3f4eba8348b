import { byId, element, show } from './dom.js';
import { count } from './format.js';
import { LockRows } from './lock-rows.js';

/** The columns, and the orders that the application knows. */
const COLUMNS = [
  { name: 'Key', sort: 'key' },
  { name: 'Held', sort: 'kind' },
  { name: 'By', sort: 'owner' },
  { name: 'For', sort: 'age', largestFirst: true },
  { name: 'Lease left', sort: 'lease' },
  { name: 'Waiting', sort: 'waiting', largestFirst: true },
];
/** How long typing pauses, in ms, before the application is asked. */
const PAUSE = 200;

export class LockTable {
  #rows = new Map();
  #locks = [];
  #process = {};
  /** `undefined`: locks with waiters first, then the longest held. */
  #column;
  #descending = false;
  #onRelease;
  #onQuery;
  #readOnly;
  #stale = false;
  #typing;

  /** `onQuery`: another filter or order is wanted. */
  constructor({ onRelease, onQuery }) {
    this.#onRelease = onRelease;
    this.#onQuery = onQuery;
    this.#buildHead();
    const filter = byId('filter');
    filter.addEventListener('input', () => {
      clearTimeout(this.#typing);
      this.#typing = setTimeout(onQuery, PAUSE);
    });
    document.addEventListener('keydown', (event) => {
      if (event.key !== '/' || event.target.matches('input, select, textarea') || byId('dialog').open) return;
      event.preventDefault();
      filter.focus();
    });
  }

  /** What the application is asked for. */
  get query() {
    const filter = byId('filter').value.trim() || undefined;
    return { filter, sort: this.#column?.sort, descending: this.#descending ? '1' : undefined };
  }

  update({ locks, process, readOnly }) {
    this.#locks = locks.list;
    this.#process = process;
    if (readOnly !== this.#readOnly) this.clear();
    this.#readOnly = readOnly;
    show(byId('hint'), hintOf(locks));
    this.#render(locks);
  }

  /** Whether the locks are shown as they once were, and not as they are. */
  setStale(stale) {
    if (stale === this.#stale) return;
    this.#stale = stale;
    this.tick();
  }

  tick() {
    for (const rows of this.#rows.values()) rows.tick(this.#stale);
  }

  /** Forgets what it has shown. */
  clear() {
    for (const { body } of this.#rows.values()) body.remove();
    this.#rows.clear();
  }

  #render(locks) {
    const keys = new Set(this.#locks.map(({ key }) => key));
    for (const [key, { body }] of this.#rows) {
      if (keys.has(key)) continue;
      body.remove();
      this.#rows.delete(key);
    }
    let before = byId('table').tHead;
    for (const lock of this.#locks) {
      const { body } = this.#shown(lock);
      // An element in its place stays there and keeps its focus.
      if (before.nextElementSibling !== body) before.after(body);
      before = body;
    }
    const isEmpty = this.#locks.length === 0;
    show(byId('empty'), isEmpty ? whyEmpty(locks) : undefined);
    byId('table').hidden = isEmpty;
  }

  #shown(lock) {
    let rows = this.#rows.get(lock.key);
    if (rows === undefined) {
      const onRelease = this.#readOnly ? undefined : this.#onRelease;
      rows = new LockRows(lock.key, { columns: COLUMNS.length + 1, onRelease, onKey: (each) => this.#show(each) });
      this.#rows.set(lock.key, rows);
    }
    rows.update(lock, this.#process, this.#stale);
    return rows;
  }

  /** Filters by the key, or shows all again. */
  #show(key) {
    const filter = byId('filter');
    // An input takes no line breaks.
    const text = key.replace(/\s+/g, ' ').trim();
    filter.value = filter.value === text ? '' : text;
    this.#onQuery();
  }

  #buildHead() {
    const row = element('tr', { role: 'row' });
    for (const column of COLUMNS) {
      const button = element('button', { type: 'button' }, column.name);
      const cell = element('th', { role: 'columnheader', scope: 'col' }, button);
      button.addEventListener('click', () => this.#sortBy(column));
      column.cell = cell;
      row.append(cell);
    }
    row.append(
      element('th', { role: 'columnheader', scope: 'col' }, element('span', { class: 'visually-hidden' }, 'Action')),
    );
    byId('table').tHead.append(row);
    this.#markSorting();
  }

  /** The first click sorts, the second reverses, the third returns to the first order. */
  #sortBy(column) {
    const first = column.largestFirst === true;
    if (this.#column !== column) [this.#column, this.#descending] = [column, first];
    else if (this.#descending === first) this.#descending = !first;
    else [this.#column, this.#descending] = [undefined, false];
    this.#markSorting();
    this.#onQuery();
  }

  #markSorting() {
    for (const column of COLUMNS) {
      const sorted = column === this.#column;
      if (sorted) column.cell.setAttribute('aria-sort', this.#descending ? 'descending' : 'ascending');
      else column.cell.removeAttribute('aria-sort');
    }
  }
}

export function whyEmpty({ age, totals }) {
  if (age === undefined) return 'Redis has not answered yet.';
  if (totals.locks > 0) return `No lock matches the filter (${count(totals.locks)} locks).`;
  return totals.complete ? 'No lock is held.' : 'No lock was found yet.';
}

function hintOf({ list, matching, limit, totals }) {
  const hints = [];
  if (matching > list.length)
    hints.push(
      `The first ${count(list.length)} of ${count(matching)} locks. Filter and order apply to all of them; the option limit (${count(limit)}) sets how many are shown.`,
    );
  if (totals.capped) hints.push(`There are more locks: only ${count(totals.locks)} are counted.`);
  else if (!totals.complete)
    hints.push('Redis has many keys, and the scan is not complete yet: there may be more locks.');
  return hints.length > 0 ? hints.join(' ') : undefined;
}
