import type { ServerResponse } from 'node:http';

/** How long one stream lasts. Then the browser reconnects, and the guards check it again. */
const LONGEST = 300_000;

const HEADERS = Object.freeze({
  'content-type': 'text/event-stream; charset=utf-8',
  // Keeps proxies from compressing or buffering the stream.
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
  'x-content-type-options': 'nosniff',
});

/** A stream of server-sent events, one for each new state. */
export class StateStream {
  private readonly timer = setTimeout(() => this.close(), LONGEST).unref();

  constructor(private readonly response: ServerResponse) {
    response.writeHead(200, HEADERS);
    response.flushHeaders();
    response.once('close', () => clearTimeout(this.timer));
  }

  /** A slow reader misses states, so that the others are never late. */
  send(state: string): void {
    if (this.response.writableNeedDrain || this.response.writableEnded) return;
    this.response.write(`event: state\ndata: ${state}\n\n`);
  }

  close(): void {
    this.response.end();
  }

  onClose(listener: () => void): void {
    this.response.once('close', listener);
  }
}
