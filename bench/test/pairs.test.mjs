// Callers want two keys at a time, and how long a wanted key is idle is measured.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ensureRedis } from '../../scripts/setup.mjs';
import { ServerView } from '../harness/server.mjs';
import { Threads } from '../harness/threads.mjs';
import scenario from '../scenarios/pairs.mjs';

let server;
let context;

before(async () => {
  server = await (await ensureRedis()).start();
  const target = { host: server.host, port: server.port };
  context = { threads: new Threads(), server: new ServerView(target), target };
});

after(async () => {
  await context.threads.end();
  context.server.close();
  await server.stop();
});

test('two keys for each call are measured, and no section overlaps another one with the same key', async () => {
  const measured = await scenario.measure(context, { keys: 5 }, { warmUp: 300, window: 1_000 });
  for (const [name, value] of Object.entries(measured)) assert.ok(Number.isFinite(value), `${name}: ${value}`);
  assert.equal(measured.overlaps, 0);
  assert.ok(measured.throughput > 0 && measured.idleP50 <= measured.idle);
});
