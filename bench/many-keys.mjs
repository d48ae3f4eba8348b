// One process that waits for very many keys. npm run bench:many-keys -- [--keys 100000] [--cluster [--reshard]] [--no-restart]
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureAll } from '../scripts/setup.mjs';
import { ROOT } from '../scripts/lib/paths.mjs';
import { assembleScript } from '../scripts/lib/lua-source.mjs';
import { runAsScript } from '../scripts/lib/run.mjs';

const LEASE = 3_600_000;
const AT_A_TIME = 500;
const IDLE = 10_000;
const SILENT = { debug() {}, log() {}, warn() {}, error() {} };
const ROLES = ['state', 'queue', 'waiters', 'fence', 'tombstones', 'limit'];

async function manyKeys() {
  const { values } = parseArgs({
    options: {
      keys: { type: 'string', default: '100000' },
      cluster: { type: 'boolean', default: false },
      restart: { type: 'boolean', default: true },
      reshard: { type: 'boolean', default: false },
    },
    allowNegative: true,
  });
  await ensureAll();
  const [{ startRedis }, { startRedisCluster }] = await Promise.all([
    import('../testbed/servers/redis-server.mjs'),
    import('../testbed/servers/redis-cluster.mjs'),
  ]);
  const server = values.cluster ? await startRedisCluster() : await startRedis({ args: ['--appendonly', 'yes'] });
  try {
    await new Measurement(server, values.cluster, Number(values.keys)).run(values);
  } finally {
    await server.stop();
  }
}

class Measurement {
  constructor(server, isCluster, count) {
    this.server = server;
    this.connection = isCluster ? { cluster: server.addresses } : { host: server.host, port: server.port };
    this.nodes = isCluster ? server.nodes : [server];
    this.keys = Array.from({ length: count }, (_, i) => `many:${i}`);
    this.acquireSource = assembleScript(join(ROOT, 'lua'), 'acquire.lua');
    this.releaseSource = assembleScript(join(ROOT, 'lua'), 'release.lua');
  }

  async run({ cluster, restart, reshard }) {
    await Promise.all(
      [this.acquireSource, this.releaseSource].map((source) =>
        Promise.all(this.nodes.map(({ admin }) => admin.script('LOAD', source))),
      ),
    );
    const { createLockClient } = await import('../dist/esm/client/index.js');
    const hold = (key) => ['h:1', 'exclusive', '', LEASE, 1, '0 0 3000 600000 3000 1', key];
    await this.each(async (key) => this.script(this.acquireSource, key, hold(key).slice(0, -1)));

    const open = () =>
      createLockClient({ connection: this.connection, commandTimeout: 30_000, shutdownTimeout: 0 }, { logger: SILENT });
    const first = await open();
    await this.waitFor(first, 'first client');
    await this.idle();
    if (restart && !cluster) await this.restart();
    if (cluster && reshard) await this.reshard();
    await this.close(first);

    const second = await open();
    const granted = await this.waitFor(second, 'second client');
    await this.timed('all are granted after the releases', async () => {
      await this.each((key) => this.script(this.releaseSource, key, ['h:1', '0 0 0']));
      const handles = await Promise.all(granted);
      if (handles.some((handle) => handle === undefined)) throw new Error('a waiter was not granted');
    });
    await this.close(second);
  }

  async waitFor(client, who) {
    const before = used();
    let waiting;
    await this.timed(`${who}: all wait`, async () => {
      waiting = this.keys.map((key) => client.acquire(key, { waitTimeout: Infinity }).catch(() => undefined));
      await this.untilAllWait();
    });
    console.log(`${who}: heap per waiter: ${((used() - before) / this.keys.length).toFixed(0)} bytes`);
    return waiting;
  }

  async idle() {
    const [before, start] = [await this.stats(), performance.now()];
    await this.timed('idle', () => sleep(IDLE));
    await this.rates(before, start, /^(evalsha|ping|publish|spublish|subscribe|ssubscribe|pubsub)/);
  }

  async rates(before, start, names) {
    const [after, seconds] = [await this.stats(), (performance.now() - start) / 1_000];
    const rates = Object.entries(after)
      .map(([name, calls]) => [name, (calls - (before[name] ?? 0)) / seconds])
      .filter(([name, rate]) => rate >= 1 && names.test(name));
    for (const [name, rate] of rates) console.log(`  ${name}: ${rate.toFixed(0)} a second`);
  }

  async restart() {
    await this.timed('Redis restarts, and all wait again', async () => {
      await this.server.kill?.();
      await this.server.start();
      const { calls } = { calls: this.keys.length };
      while (((await this.stats()).evalsha ?? 0) < calls) await sleep(100);
    });
  }

  async reshard() {
    const [before, start] = [await this.stats(), performance.now()];
    await this.timed('a third of the slots moves', () => this.server.reshard());
    await this.rates(before, start, /^(evalsha|ssubscribe|cluster.slots)/);
    await this.idle();
  }

  async close(client) {
    await this.timed('close()', () => client.close());
  }

  /** Measures the time, and for how long the event loop was blocked at most. */
  async timed(what, task) {
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    const start = performance.now();
    await task();
    const seconds = (performance.now() - start) / 1_000;
    await sleep(50);
    delay.disable();
    const ms = (nanoseconds) => (nanoseconds / 1e6).toFixed(0);
    console.log(
      `${what}: ${seconds.toFixed(2)} s; event loop delay p99 ${ms(delay.percentile(99))} ms, max ${ms(delay.max)} ms`,
    );
  }

  async untilAllWait() {
    let left = this.keys;
    while (left.length > 0) {
      const counts = [];
      for (let i = 0; i < left.length; i += AT_A_TIME) {
        const part = left.slice(i, i + AT_A_TIME);
        counts.push(...(await Promise.all(part.map((key) => this.server.admin.exists(`lock:queue:{${key}}`)))));
      }
      left = left.filter((_, i) => counts[i] === 0);
      await sleep(20);
    }
  }

  async each(task) {
    for (let i = 0; i < this.keys.length; i += AT_A_TIME)
      await Promise.all(this.keys.slice(i, i + AT_A_TIME).map(task));
  }

  script(source, key, args) {
    const channels = this.connection.cluster ? `lock:client:{${key}}:` : 'lock:client:';
    const keys = ROLES.map((role) => `lock:${role}:{${key}}`);
    return this.server.admin.eval(source, keys.length, ...keys, `${channels}\n${key}`, ...args);
  }

  async stats() {
    const sums = {};
    for (const { admin } of this.nodes) {
      for (const [, name, calls] of (await admin.info('commandstats')).matchAll(/^cmdstat_([\w|]+):calls=(\d+)/gm)) {
        sums[name] = (sums[name] ?? 0) + Number(calls);
      }
    }
    return sums;
  }
}

let collect;

function used() {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc');
  }
  for (let i = 0; i < 3; i++) collect();
  return process.memoryUsage().heapUsed;
}

await runAsScript(manyKeys);
