// A process of an application, with its metrics, its log and its dashboard.
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import * as prometheus from 'prom-client';
import { RedisLockDashboardModule } from '../../dist/esm/dashboard/index.js';
import { LockService, RedisLockModule } from '../../dist/esm/index.js';
import { prometheusMetrics, structuredLogs } from '../../dist/esm/metrics/index.js';
import { serve } from '../testbed/workers/worker-kit.mjs';

/** What the application has logged. */
const lines = [];
const textOf = (line) => (typeof line === 'object' ? JSON.stringify(line) : String(line));
const logAs = (level) => (line) => void lines.push(`${level} ${textOf(line)}`);
const logger = { debug: logAs('DEBUG'), log: logAs('LOG'), warn: logAs('WARN'), error: logAs('ERROR') };

let app;
let locks;
let proceed;
const handles = new Map();

/** Logs the error that a caller gets, as an application does. */
const logged = (error) => void lines.push(`ERROR ${error.code}: ${error.message}`);

async function acquire(key, options) {
  const handle = await locks.acquire(key, { pattern: key.replace(/:.*/, ':*'), ...options });
  handles.set(key, handle);
  return handle;
}

serve({
  /** Returns the address. */
  async start({ forceCloseConnections = true, ...options }) {
    prometheusMetrics(prometheus);
    structuredLogs(logger, { types: ['timeout', 'skipped', 'failed', 'unreleased', 'lost'] });
    const root = {
      module: class Shop {},
      imports: [
        RedisLockModule.forRoot({ shutdownTimeout: 0, ...options }),
        RedisLockDashboardModule.forRoot({ guards: 'none', refresh: 250 }),
      ],
    };
    app = await NestFactory.create(root, { logger, abortOnError: false, forceCloseConnections });
    locks = app.get(LockService);
    const http = app.getHttpAdapter();
    http.get('/metrics', async (_request, response) => response.end(await prometheus.register.metrics()));
    http.get('/health', async (_request, response) => response.end(JSON.stringify(await locks.health(), null, 2)));
    // A request that never ends.
    http.get('/hang', () => void locks.run('stock:42', () => new Promise(() => undefined), { pattern: 'stock:*' }));
    await app.listen(0, '127.0.0.1');
    return app.getUrl();
  },

  /** Holds a key until `release`. */
  async hold(key, options) {
    await acquire(key, options);
  },
  async release(key) {
    await handles.get(key).release();
  },

  /** Waits for a key, and keeps it once it is granted. The caller of this method does not wait. */
  wait(key, options) {
    acquire(key, { waitTimeout: '1h', ...options }).catch(logged);
  },

  /** Holds a key, and waits for another one once `proceed` is called. */
  nest(outer, inner, options) {
    const task = () =>
      new Promise((resolve) => (proceed = resolve)).then(() =>
        locks.run(inner, () => undefined, { waitTimeout: '1h', ...options }),
      );
    return new Promise((resolve) => {
      locks.run(outer, () => (resolve(), task()), { waitTimeout: '1h' }).catch(logged);
    });
  },
  proceed: () => proceed(),

  /** Asks for a key as a job does that runs on one replica at a time. */
  async tick(key, options) {
    const handle = await locks.tryAcquire(key, { pattern: key, ...options });
    await handle?.release();
    return handle !== null;
  },

  /** Requests a key that another process holds, and logs the error. */
  async attempt(key, options) {
    await acquire(key, { waitTimeout: 0, ...options }).catch(logged);
  },

  /** Learns the label of the holder of a key, as a process that has been contended before. */
  async look(key) {
    await locks.inspect(key);
  },

  /** Takes turns with others until `stop`. */
  async takeTurns(key) {
    const turn = async () => {
      while (handles.get('turns') === true) {
        const handle = await locks.acquire(key, { pattern: key.replace(/:.*/, ':*'), waitTimeout: '1h' });
        await new Promise((resolve) => setTimeout(resolve, 20));
        await handle.release();
      }
    };
    handles.set('turns', true);
    void turn().catch(logged);
  },
  stopTurns: () => handles.set('turns', false) && undefined,

  log: () => lines,
  /** As Nest does on SIGTERM. */
  async shutDown() {
    await app.close();
  },
  /** The same, with a request that does not end. */
  beginToShutDown: () => void app.close(),
});
