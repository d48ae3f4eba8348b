import type { Style } from './style.js';
import { safe } from './texts.js';

/** A text and its style. */
export type Cell = string | { readonly text: string; readonly style: keyof Style };

/** Formats rows under their headings. Each column is as wide as its widest cell. */
export function table(style: Style, headings: readonly string[], rows: ReadonlyArray<readonly Cell[]>): string {
  const widths = headings.map((heading, i) => Math.max(heading.length, ...rows.map((row) => textOf(row[i]!).length)));
  const pad = (text: string, i: number): string => (i === widths.length - 1 ? text : text.padEnd(widths[i]!));
  const lines = rows.map((row) =>
    row.map((cell, i) => (typeof cell === 'string' ? pad(textOf(cell), i) : style[cell.style](pad(textOf(cell), i)))),
  );
  return [headings.map((heading, i) => style.dim(pad(heading, i))), ...lines]
    .map((cells) => `${cells.join('  ').trimEnd()}\n`)
    .join('');
}

/** Any cell may come from Redis, where other programs write, too. */
const textOf = (cell: Cell): string => safe(typeof cell === 'string' ? cell : cell.text);
