import { byId, element, show } from './dom.js';
import { count, kindName, ownerName } from './format.js';
import { LockRows } from './lock-rows.js';

/** The sort keys of the columns. A lock with several holders is sorted by the first. */
const COLUMNS = [
  { name: 'Key', of: ({ key }) => key },
  { name: 'Held', of: ({ holders: [first] }) => (first ? kindName(first) : '') },
  { name: 'By', of: ({ holders: [first] }) => (first ? ownerName(first) : '') },
  { name: 'For', of: ({ holders: [first] }) => first?.age ?? -1, largestFirst: true },
  { name: 'Lease left', of: ({ holders: [first] }) => first?.lease ?? -1 },
  { name: 'Token', of: ({ fencingToken }) => fencingToken, largestFirst: true },
  { name: 'Waiting', of: ({ waiting }) => waiting, largestFirst: true },
];

export class LockTable {
  #rows = new Map();
  #locks = [];
  #process = {};
  #sorting = { column: COLUMNS[0], sign: 1 };
  #onRelease;
  #readOnly;

  constructor(onRelease) {
    this.#onRelease = onRelease;
    this.#buildHead();
    const filter = byId('filter');
    filter.addEventListener('input', () => this.#render());
    document.addEventListener('keydown', (event) => {
      if (event.key !== '/' || event.target.matches('input, select, textarea') || byId('dialog').open) return;
      event.preventDefault();
      filter.focus();
    });
  }

  update({ locks, process, readOnly }) {
    this.#locks = locks.list;
    this.#process = process;
    if (readOnly !== this.#readOnly) this.clear();
    this.#readOnly = readOnly;
    show(byId('hint'), hintOf(locks));
    this.#render(true);
  }

  tick() {
    for (const rows of this.#rows.values()) rows.tick();
  }

  /** Forgets what it has shown. */
  clear() {
    for (const { body } of this.#rows.values()) body.remove();
    this.#rows.clear();
  }

  #render(isNews = false) {
    const { column, sign } = this.#sorting;
    const wanted = this.#locks.filter(matches(byId('filter').value));
    wanted.sort((a, b) => sign * compare(column.of(a), column.of(b)) || compare(a.key, b.key));
    const keys = new Set(wanted.map(({ key }) => key));
    for (const [key, { body }] of this.#rows) {
      if (keys.has(key)) continue;
      body.remove();
      this.#rows.delete(key);
    }
    let before = byId('table').tHead;
    for (const lock of wanted) {
      const rows = this.#rows.get(lock.key);
      const { body } = rows === undefined || isNews ? this.#shown(lock) : rows;
      // An element in its place stays there and keeps its focus.
      if (before.nextElementSibling !== body) before.after(body);
      before = body;
    }
    show(byId('empty'), wanted.length > 0 ? undefined : this.#whyEmpty());
    byId('table').hidden = wanted.length === 0;
  }

  #shown(lock) {
    let rows = this.#rows.get(lock.key);
    if (rows === undefined) {
      const onRelease = this.#readOnly ? undefined : this.#onRelease;
      rows = new LockRows(lock.key, { columns: COLUMNS.length + 1, onRelease });
      this.#rows.set(lock.key, rows);
    }
    rows.update(lock, this.#process);
    return rows;
  }

  #whyEmpty() {
    return this.#locks.length === 0 ? 'No lock is held.' : 'No lock matches the filter.';
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

  #sortBy(column) {
    const first = column.largestFirst ? -1 : 1;
    const { column: old, sign } = this.#sorting;
    this.#sorting = { column, sign: column === old ? -sign : first };
    this.#markSorting();
    this.#render();
  }

  #markSorting() {
    const { column: sorted, sign } = this.#sorting;
    for (const column of COLUMNS) {
      if (column === sorted) column.cell.setAttribute('aria-sort', sign > 0 ? 'ascending' : 'descending');
      else column.cell.removeAttribute('aria-sort');
    }
  }
}

const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

function matches(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return ({ key, holders, waiters }) => {
    const about = [...holders, ...waiters].flatMap((each) => [ownerName(each), each.client, kindName(each)]);
    const all = [key, ...about].join('\n').toLowerCase();
    return words.every((word) => all.includes(word));
  };
}

function hintOf({ limit, more, complete }) {
  if (more)
    return `There are more locks: only ${count(limit)} are shown. To see the others, use the command line program or raise the limit.`;
  return complete ? undefined : 'Redis has many keys, and the scan is not complete yet: there may be more locks.';
}
