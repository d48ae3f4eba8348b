import { hashSlot } from '../../keys/index.js';
import type { ConfirmingScript, ReplicaConfirmation } from './connection.js';
import { ReplicaAcknowledgement, retryConfirmation } from './replica-acknowledgement.js';
import type { Server, Servers } from './servers.js';
import { storeFailure } from './store-failure.js';

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

  confirm(
    key: string,
    id: string,
    min: number,
    timeout: number,
    script: ConfirmingScript = 'confirm',
  ): Promise<number> {
    let isFirst = true;
    return retryConfirmation(timeout, async (left) => {
      if (!isFirst) void this.servers.refresh();
      isFirst = false;
      const server = this.servers.of(hashSlot(key));
      if (server === undefined) throw storeFailure(new Error('Connection is closed.'));
      return this.at(server).confirm(key, id, min, left, script);
    });
  }

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
