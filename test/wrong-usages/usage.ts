/** A piece of code that a user may write by mistake. */
export interface WrongUsage {
  readonly code: string;
  /** A part of the message that the user gets: from the compiler, when the class is defined, at start, or from the call. */
  readonly message: string;
}
