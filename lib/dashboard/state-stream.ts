import type { ServerResponse } from 'node:http';

/** For how long one stream lasts: then the browser comes again, and guards look at it again. */
const LONGEST = 300_000;

const HEADERS = Object.freeze({
  'content-type': 'text/event-stream; charset=utf-8',
  // Neither compressed nor held back by what is in between.
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
  'x-content-type-options': 'nosniff',
});

/** Server-sent events: each a new state. */
export class StateStream {
  private readonly end = (): void => void this.response.end();
  private readonly timer = setTimeout(this.end, LONGEST).unref();

  constructor(private readonly response: ServerResponse) {
    response.writeHead(200, HEADERS);
    response.flushHeaders();
    response.once('close', () => clearTimeout(this.timer));
  }

  /** Whoever reads too slowly misses states, which are never late then. */
  send(state: string): void {
    if (this.response.writableNeedDrain || this.response.writableEnded) return;
    this.response.write(`event: state\ndata: ${state}\n\n`);
  }

  close(): void {
    this.end();
  }

  onClose(listener: () => void): void {
    this.response.once('close', listener);
  }
}
