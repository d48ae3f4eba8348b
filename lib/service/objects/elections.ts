import { LockStoreError } from '../../errors/index.js';
import type { LeaderElection } from './leader-election.js';

/** The candidates of a service that stand for election. They stop when the service shuts down. */
export class Elections {
  private readonly standing = new Set<LeaderElection>();
  private over = false;

  /** @throws LockStoreError when the application is shutting down */
  add(election: LeaderElection): void {
    if (this.over) {
      const { key } = election;
      throw new LockStoreError('the application is shutting down: no candidate can stand for election any more', {
        key,
      });
    }
    this.standing.add(election);
  }

  delete(election: LeaderElection): void {
    this.standing.delete(election);
  }

  /** Stops all candidates, so that other processes take over at once, and refuses new ones. */
  stopAll(): void {
    this.over = true;
    for (const election of [...this.standing]) void election.stop();
  }
}
