import type { Style } from './style.js';

/** Where a command writes to. */
export interface Terminal {
  readonly style: Style;
  /** Whether somebody looks at it, rather than a program. */
  readonly isInteractive: boolean;
  write(text: string): void;
  /** For what is no result. */
  complain(text: string): void;
}

/** Begins a new screen. */
export const CLEAR = '\u001b[H\u001b[2J\u001b[3J';
