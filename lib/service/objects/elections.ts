import { LockStoreError } from '../../errors/index.js';
import type { LeaderElection } from './leader-election.js';

/** The elections of a service in which it stands: they end with it. */
export class Elections {
  private readonly standing = new Set<LeaderElection>();
  private over = false;

  /** @throws LockStoreError when the application is shutting down */
  begun(election: LeaderElection): void {
    if (this.over) {
      const { key } = election;
      throw new LockStoreError('the application is shutting down: nobody can stand for election any more', { key });
    }
    this.standing.add(election);
  }

  ended(election: LeaderElection): void {
    this.standing.delete(election);
  }

  /** Gives up what is led, so that others take over at once, and lets nobody stand again. */
  stopAll(): void {
    this.over = true;
    for (const election of [...this.standing]) void election.stop();
  }
}
