import { DOUBT_AGAIN } from './connection-options.js';
import type { Connection } from './connection.js';

/** Raises doubts about a new connection until it receives messages or is closed. */
export function doubtUntilListening(
  connection: Pick<Connection, 'listening' | 'doubt'>,
  isClosed: () => boolean,
): void {
  setTimeout(() => {
    if (isClosed() || connection.listening) return;
    connection.doubt();
    doubtUntilListening(connection, isClosed);
  }, DOUBT_AGAIN).unref();
}
