import { button, byId, element, show, span, write } from './dom.js';
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
/** How many locks are listed until the user asks for all. */
const FIRST_LOCKS = 25;
/** So few locks that a filter has found are shown with all details. */
const FEW = 3;
/** How long typing pauses, in ms, before the application is asked. */
const PAUSE = 200;

export class LockTable {
  #rows = new Map();
  #all = false;
  #state;
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
    byId('all').addEventListener('click', () => {
      this.#all = !this.#all;
      this.#render();
      if (!this.#all) byId('locks').scrollIntoView();
    });
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

  update(state) {
    if (state.readOnly !== this.#readOnly) this.clear();
    this.#readOnly = state.readOnly;
    this.#state = state;
    show(byId('hint'), hintOf(state.locks));
    this.#render();
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

  #render() {
    const { locks, process } = this.#state;
    const { list } = locks;
    const shown = this.#all ? list : list.slice(0, FIRST_LOCKS);
    const isDetailed = this.query.filter !== undefined && list.length <= FEW;
    byId('table').toggleAttribute('data-detailed', isDetailed);
    const place = { process, isDetailed, ambiguous: sharedLabels(list) };
    const keys = new Set(shown.map(({ key }) => key));
    for (const [key, { body }] of this.#rows) {
      if (keys.has(key)) continue;
      body.remove();
      this.#rows.delete(key);
    }
    let before = byId('table').tHead;
    for (const lock of shown) {
      const { body } = this.#shown(lock, place);
      // An element in its place stays there and keeps its focus.
      if (before.nextElementSibling !== body) before.after(body);
      before = body;
    }
    const isEmpty = list.length === 0;
    byId('all').hidden = list.length <= FIRST_LOCKS;
    write(byId('all'), this.#all ? `Show the first ${FIRST_LOCKS}` : `Show all ${count(list.length)}`);
    show(byId('empty'), isEmpty ? whyEmpty(locks) : undefined);
    byId('table').hidden = isEmpty;
  }

  #shown(lock, place) {
    let rows = this.#rows.get(lock.key);
    if (rows === undefined) {
      const onRelease = this.#readOnly ? undefined : this.#onRelease;
      rows = new LockRows(lock.key, { columns: COLUMNS.length + 1, onRelease, onKey: (each) => this.#show(each) });
      this.#rows.set(lock.key, rows);
    }
    rows.update(lock, place, this.#stale);
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
    const heading = (child) => element('th', { role: 'columnheader', scope: 'col' }, child);
    for (const column of COLUMNS) {
      column.cell = heading(button(column.name, {}, () => this.#sortBy(column)));
      row.append(column.cell);
    }
    row.append(heading(span('visually-hidden', 'Action')));
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

/** The labels that several clients have. */
function sharedLabels(locks) {
  const clients = new Map();
  const shared = new Set();
  for (const { label, client } of locks.flatMap(({ holders, waiters }) => [...holders, ...waiters])) {
    if (label !== undefined && (clients.get(label) ?? client) !== client) shared.add(label);
    clients.set(label, client);
  }
  return shared;
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
