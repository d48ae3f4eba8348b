import type { Cluster, Redis } from 'ioredis';

/** The listeners that a connection adds to its clients. They are removed together. */
export class ClientEvents {
  private readonly stops: Array<() => void> = [];
  private stopped = false;

  get isStopped(): boolean {
    return this.stopped;
  }

  on(client: Redis | Cluster, event: string, listener: (...args: any[]) => void): void {
    client.on(event, listener);
    this.stops.push(() => {
      client.off(event, listener);
      // Node throws an error event without a listener. A socket that fails while it is being closed needs no report.
      if (event === 'error') client.on('error', () => undefined);
    });
  }

  stop(): void {
    this.stopped = true;
    for (const stop of this.stops.splice(0)) stop();
  }
}
