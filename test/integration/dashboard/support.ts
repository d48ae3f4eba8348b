import { request } from 'node:http';
import type { INestApplication, ModuleMetadata } from '@nestjs/common';
import { LockService } from 'nestjs-redis-locks';
import type { RedisLockRootOptions } from '../../../lib/module/redis-lock.options.js';
import { RedisLockDashboardModule, type RedisLockDashboardOptions } from 'nestjs-redis-locks/dashboard';
import type { DashboardState } from '../../../lib/dashboard/dashboard-state.js';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import type { ListenOptions, NestBench } from '../nest/support.js';

/** The headers that the page sends with a release. */
export const OWN = { 'content-type': 'application/json', 'x-lock-dashboard': '1' };

export interface DashboardServer {
  readonly app: INestApplication;
  readonly locks: LockService;
  readonly url: string;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  state(query?: string): Promise<DashboardState>;
  release(order: object, headers?: Record<string, string>): Promise<{ status: number; body: any }>;
}

export interface ServeOptions extends ListenOptions {
  readonly module?: RedisLockRootOptions;
  readonly metadata?: ModuleMetadata;
  /** Where the page is, from the root. */
  readonly at?: string;
}

/** An application that serves the page. */
export async function serve(
  bench: NestBench,
  options: Partial<RedisLockDashboardOptions>,
  { module, metadata = {}, at = '/locks', ...listening }: ServeOptions = {},
): Promise<DashboardServer> {
  const dashboard = RedisLockDashboardModule.forRoot({ guards: 'none', refresh: 250, ...options });
  const builder = bench.build(
    { ...metadata, imports: [dashboard, ...(metadata.imports ?? [])] },
    { shutdownTimeout: 0, ...module },
  );
  const { app, url: root } = await bench.listen(builder, listening);
  const url = root + at;
  const get = (path: string, headers: Record<string, string> = {}): Promise<Response> => fetch(url + path, { headers });
  return {
    ...{ app, locks: app.get(LockService), url, get },
    state: async (query = '') => (await get(`/state${query}`)).json() as Promise<DashboardState>,
    async release(order, headers = OWN) {
      // fetch sends `sec-fetch-mode` by itself and takes no Host.
      const response = await post(`${url}/release`, JSON.stringify(order), headers);
      return { status: response.status, body: JSON.parse(response.text) };
    },
  };
}

function post(url: string, body: string, headers: Record<string, string>): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', headers, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () => resolve({ status: response.statusCode!, text }));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** The states of a stream, as they come, until `close()` or its end. */
export class Stream implements AsyncDisposable {
  readonly states: DashboardState[] = [];
  ended = false;
  private readonly abort = new AbortController();

  static async open(server: DashboardServer, query = ''): Promise<Stream> {
    const stream = new Stream();
    const response = await fetch(`${server.url}/events${query}`, { signal: stream.abort.signal });
    if (response.status !== 200) throw new Error(`HTTP ${response.status}: ${await response.text()}`);
    void stream.read(response);
    return stream;
  }

  /** The first state that is as wanted. */
  until(wanted: (state: DashboardState) => boolean): Promise<DashboardState> {
    return eventually(() => this.states.find(wanted), { what: 'a state on the stream' });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.abort.abort();
    await eventually(() => this.ended);
  }

  private async read(response: Response): Promise<void> {
    let text = '';
    const decoder = new TextDecoder();
    try {
      for await (const part of response.body as unknown as AsyncIterable<Uint8Array>) {
        text += decoder.decode(part, { stream: true });
        const events = text.split('\n\n');
        text = events.pop()!;
        for (const event of events) this.states.push(JSON.parse(event.replace(/^event: state\ndata: /, '')));
      }
    } catch {
      // Closed by the test.
    } finally {
      this.ended = true;
    }
  }
}
