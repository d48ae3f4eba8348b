import type { LockStoreError } from '../../errors/index.js';

/** How many ms after a failure the replicas are asked again. The server may be another one by then. */
const AGAIN = 50;

/**
 * Retries until `timeout`, to get over a failover: a request that fails because of one is sent again, to the server
 * that has the lock by then. `ask` gets the ms that are left.
 * @throws LockStoreError the last one when the time is over; a permanent one at once
 */
export async function retryConfirmation(timeout: number, ask: (left: number) => Promise<number>): Promise<number> {
  const until = performance.now() + timeout;
  for (;;) {
    try {
      return await ask(Math.max(0, until - performance.now()));
    } catch (error) {
      if (!(error as LockStoreError).transient || performance.now() + AGAIN > until) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN).unref());
  }
}
