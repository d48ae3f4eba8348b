import { grouped } from '../../service/party-names.js';
import type { Style } from './style.js';
import { safe } from './texts.js';
import { fitTo, widthOf } from './width.js';

/** A text and its style. */
export type Cell = string | { readonly text: string; readonly style: keyof Style };

export interface Column<Row> {
  readonly heading: string;
  readonly cell: (row: Row) => Cell;
  /** Whether its texts may be cut. */
  readonly elastic?: boolean;
  /** Whether it is left out of a terminal that is too narrow: the last such column first. */
  readonly optional?: boolean;
  /** Whether it is left out if it says nothing of any row. */
  readonly sparse?: boolean;
}

/** The text of a cell that says nothing. */
export const NOTHING = '-';

/** How much of a table a terminal can show. */
export interface Space {
  readonly columns: number;
  readonly rows: number;
}

const GAP = 2;
/** An elastic column is not cut below this width in favour of an optional one. */
const READABLE = 18;
/** The width to which a column is cut at most. */
const NARROWEST = 6;

/** Formats rows under their headings. Each column is as wide as its widest cell, unless the terminal is narrower. */
export function table<Row>(style: Style, all: ReadonlyArray<Column<Row>>, rows: readonly Row[], space: Space): string {
  const shown = rows.length > space.rows ? rows.slice(0, Math.max(1, space.rows - 1)) : rows;
  const laid = all.flatMap((column) => {
    const cells = shown.map((row) => column.cell(row));
    if (column.sparse && cells.every((cell) => cell === NOTHING)) return [];
    return [{ column, cells, width: Math.max(...[column.heading, ...cells.map(textOf)].map(widthOf)) }];
  });
  const needed = () =>
    laid.reduce((sum, { column, width }) => sum + GAP + (column.elastic ? Math.min(width, READABLE) : width), -GAP);
  while (needed() > space.columns) {
    const last = laid.findLastIndex(({ column }) => column.optional);
    if (last === -1) break;
    laid.splice(last, 1);
  }
  let excess = laid.reduce((sum, { width }) => sum + GAP + width, -GAP) - space.columns;
  const elastic = laid.filter(({ column }) => column.elastic);
  for (; excess > 0; excess--) {
    const widest = elastic.reduce((most, each) => (each.width > most.width ? each : most));
    if (widest.width <= NARROWEST) break;
    widest.width--;
  }
  const line = (cells: readonly Cell[]): string =>
    `${cells
      .map((cell, i) => {
        const text = fitTo(textOf(cell), laid[i]!.width);
        return typeof cell === 'string' ? text : style[cell.style](i === laid.length - 1 ? text.trimEnd() : text);
      })
      .join(' '.repeat(GAP))
      .trimEnd()}\n`;
  const lines = [
    line(laid.map(({ column }) => ({ text: column.heading, style: 'dim' }))),
    ...shown.map((_row, i) => line(laid.map(({ cells }) => cells[i]!))),
  ];
  if (shown.length < rows.length) lines.push(style.dim(`${grouped(rows.length - shown.length)} more`) + '\n');
  return lines.join('');
}

/** Any cell may come from Redis, where other programs write, too. */
const textOf = (cell: Cell): string => safe(typeof cell === 'string' ? cell : cell.text);
