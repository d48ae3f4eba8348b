import type { Belief } from './belief.js';

/**
 * When what the docs presume was taken away: by a release by force or lost data, for one key or for all; or by a failover, until
 * a holder has heard from the new server.
 */
export class Excuses {
  private readonly breaks: Array<{ readonly at: number; readonly key: string | undefined }> = [];
  private readonly failovers: Array<{ readonly at: number; readonly life: number }> = [];
  /** The latest life of the server that has answered a question about a grant, by its id. */
  private readonly answers = new Map<string, number>();

  broke(at: number, key: string | undefined): void {
    this.breaks.push({ at, key });
  }

  /** A replica took over, in this life of the server: it may have less than holders were told. */
  failedOver(at: number, life: number): void {
    this.failovers.push({ at, life });
  }

  /** A client has the answer of a life of the server about a grant, to a question from after its last connection was lost. */
  answered(id: string, life: number): void {
    this.answers.set(id, life);
  }

  /**
   * Whether the grant of one of them may have been undone: asked for before a break, that came before now, or before a failover
   * that nothing has been heard of it since.
   */
  excuse(...beliefs: readonly Belief[]): boolean {
    return beliefs.some(
      ({ hold, asked }) =>
        this.breaks.some(({ at, key }) => asked <= at && (key === undefined || key === hold.key)) ||
        this.failovers.some(({ at, life }) => asked <= at && (this.answers.get(hold.id) ?? 0) < life),
    );
  }

  /** Whether anything of the kind has happened to a key since a time. */
  since(time: number, key: string): boolean {
    return (
      this.failovers.some(({ at }) => at >= time) ||
      this.breaks.some((each) => each.at >= time && (each.key === undefined || each.key === key))
    );
  }
}
