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
  async start(options) {
    prometheusMetrics(prometheus);
    structuredLogs(logger, { types: ['timeout', 'skipped', 'unreleased', 'lost'] });
    const root = {
      module: class Shop {},
      imports: [
        RedisLockModule.forRoot({ shutdownTimeout: 0, ...options }),
        RedisLockDashboardModule.forRoot({ guards: 'none', refresh: 250 }),
      ],
    };
    app = await NestFactory.create(root, { logger, abortOnError: false, forceCloseConnections: true });
    locks = app.get(LockService);
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

  /** Asks for a key as a job does that runs on one replica at a time. */
  async tick(key) {
    const handle = await locks.tryAcquire(key, { pattern: key });
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
  metrics: () => prometheus.register.metrics(),
  health: () => locks.health(),

  /** As Nest does on SIGTERM. */
  async shutDown() {
    await app.close();
  },
});
