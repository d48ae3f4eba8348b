import type { Belief } from './belief.js';

/** When somebody took away what the docs presume: a release by force, lost data. For one key, or for all. */
export class Excuses {
  private readonly breaks: Array<{ readonly at: number; readonly key: string | undefined }> = [];

  broke(at: number, key: string | undefined): void {
    this.breaks.push({ at, key });
  }

  /** Whether the grant of one of them may have been undone: asked for before a break, that came before now. */
  excuse(...beliefs: readonly Belief[]): boolean {
    return beliefs.some(({ hold, asked }) =>
      this.breaks.some(({ at, key }) => asked <= at && (key === undefined || key === hold.key)),
    );
  }

  /** Whether anything of the kind has happened to a key since a time. */
  since(time: number, key: string): boolean {
    return this.breaks.some((each) => each.at >= time && (each.key === undefined || each.key === key));
  }
}
