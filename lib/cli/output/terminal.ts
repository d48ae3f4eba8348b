import type { Style } from './style.js';

/** The output of a command. */
export interface Terminal {
  readonly style: Style;
  /** Whether a person reads the output, rather than a program. */
  readonly isInteractive: boolean;
  write(text: string): void;
  /** Writes errors and notes, which are not part of the result. */
  complain(text: string): void;
}

/** Clears the screen. */
export const CLEAR = '\u001b[H\u001b[2J\u001b[3J';
