import { LockStoreError } from '../../errors/index.js';
import type { LeaderElection } from './leader-election.js';

/** What a candidate shows the service. */
type Candidate = Pick<LeaderElection, 'key' | 'stop'> & { readonly pattern: string };

/** The candidates of a service that stand for election. They stop when the service shuts down. */
export class Elections {
  private readonly standing = new Set<Candidate>();
  /** Why no candidate can stand any more. */
  private over: string | undefined;

  /** @throws LockStoreError when the application is shutting down */
  add(election: Candidate): void {
    if (this.over !== undefined) {
      const { key } = election;
      throw new LockStoreError(`${this.over}: no candidate can stand for election any more`, { key });
    }
    this.standing.add(election);
  }

  /** The patterns of the elections, once for each candidate. */
  get patterns(): string[] {
    return [...this.standing].map(({ pattern }) => pattern);
  }

  delete(election: Candidate): void {
    this.standing.delete(election);
  }

  /** Stops all candidates, so that other processes take over at once, and refuses new ones. */
  stopAll(why = 'the application is shutting down'): void {
    this.over ??= why;
    for (const election of [...this.standing]) void election.stop();
  }
}
