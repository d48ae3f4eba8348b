import type { Style } from './style.js';
import type { Space } from './table.js';

/** The output of a command. */
export interface Terminal {
  readonly style: Style;
  /** Whether a person reads the output, rather than a program. */
  readonly isInteractive: boolean;
  /** The size of the terminal. Without limits if a program reads the output. */
  readonly space: Space;
  write(text: string): void;
  /** Writes errors and notes, which are not part of the result. */
  complain(text: string): void;
}

/** Clears the screen. */
export const CLEAR = '\u001b[H\u001b[2J\u001b[3J';

/** The part of the terminal that is left if so many lines are taken. Some rows of a table are always shown. */
export const without = ({ columns, rows }: Space, lines: number): Space => ({
  columns,
  rows: Math.max(5, rows - lines),
});
