import { pause } from '../../common/reading-timer.js';
import type { LockStoreError } from '../../errors/index.js';
import { hashSlot } from '../../keys/index.js';
import type { ReplicaConfirmation } from './connection.js';
import { ReplicaAcknowledgement } from './replica-acknowledgement.js';
import type { Server, Servers } from './servers.js';
import { storeFailure } from './store-failure.js';

/** How many ms after a failure the replicas are asked again. The server may be another one by then. */
const AGAIN = 50;

/**
 * Confirms writes at the replicas of the servers. `WAIT` covers only what its own connection wrote. So each master gets a
 * connection of its own for it.
 */
export class Replicas implements ReplicaConfirmation {
  private readonly lines = new Map<Server, ReplicaAcknowledgement>();

  constructor(
    private readonly servers: Servers,
    private readonly commandTimeout: number,
    private readonly doubt: () => void,
  ) {}

  /** Retries until `timeout`, to get over a failover: the next request goes to the server that has the lock by then. */
  readonly confirm: ReplicaConfirmation['confirm'] = async (key, id, min, timeout, script) => {
    const until = performance.now() + timeout;
    for (;;) {
      try {
        const server = this.servers.of(hashSlot(key));
        if (server === undefined) throw storeFailure(new Error('Connection is closed.'));
        return await this.at(server).confirm(key, id, min, Math.max(0, until - performance.now()), script);
      } catch (error) {
        if (!(error as LockStoreError).transient || performance.now() + AGAIN > until) throw error;
      }
      void this.servers.refresh();
      await pause(AGAIN);
    }
  };

  /** Closes connections to servers that are no longer masters. A frozen one does not report that itself. */
  follow(): void {
    for (const [server, line] of this.lines) {
      if (this.servers.has(server)) continue;
      this.lines.delete(server);
      line.close();
    }
  }

  close(): void {
    for (const line of this.lines.values()) line.close();
    this.lines.clear();
  }

  private at(server: Server): ReplicaAcknowledgement {
    let line = this.lines.get(server);
    if (line === undefined) {
      const { lines } = this.servers;
      line = new ReplicaAcknowledgement(() => lines.open({}, server.at), this.commandTimeout, this.doubt);
      this.lines.set(server, line);
    }
    return line;
  }
}
