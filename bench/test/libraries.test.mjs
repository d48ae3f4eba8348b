// Each adapter excludes, waits, and fails when it should; otherwise the measurements would not mean what they claim.
// npm test in bench/
import assert from 'node:assert/strict';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { after, before, describe, test } from 'node:test';
import { Redis } from 'ioredis';
import { ensureRedis } from '../../scripts/setup.mjs';
import { prepare } from '../foreign/programs.mjs';
import { FOREIGN, LIBRARIES, loadLibrary, OF_SCENARIOS } from '../libraries/index.mjs';

/** These release a lock that is no longer theirs without an error. */
const SILENT = ['redis-semaphore', 'redisson-fair-lock', 'rueidislock'];

/** Their waiters may never learn that a contended key is free (bench/README.md), so they try again and again. */
const MAY_HANG = ['rueidislock'];

const CALLERS = 3;
const SECTIONS = 5;

let server;
let admin;

before(async () => {
  server = await (await ensureRedis()).start();
  admin = new Redis(server.port, server.host);
});

after(async () => {
  admin.disconnect();
  await server.stop();
});

/** Opens a client of the library and closes it at the end of the test. */
async function open(t, library, settings) {
  const opened = [];
  const redis = () => {
    const client = new Redis(server.port, server.host);
    opened.push(client);
    return client;
  };
  const connection = { url: server.url, redis, counted() {} };
  const client = await library.open({ connection, settings });
  t.after(async () => {
    await client.close();
    for (const redis of opened) redis.disconnect();
  });
  return client;
}

/** The libraries whose programs are present. They are all built before the first test, whose end is the end of Redis. */
const present = [];
for (const name of [...LIBRARIES, ...OF_SCENARIOS, ...FOREIGN]) {
  const library = await loadLibrary(name);
  const { missing } = library.program === undefined ? {} : await prepare(library.program);
  if (missing === undefined) present.push({ name, library });
  else console.log(`Not tested: ${name}. ${missing}.`);
}

for (const { name, library } of present) {
  describe(name, () => {
    const { once } = library.variants;
    const { settings: patient } = library.variants.tuned ?? library.variants.defaults;

    test('one holds a key, and another gets it afterwards', async (t) => {
      const [a, b] = [await open(t, library, once.settings), await open(t, library, once.settings)];
      const held = await a.acquire(`${name}:1`);
      assert.notEqual(held, undefined);
      assert.equal(await b.acquire(`${name}:1`), undefined);
      assert.equal(await a.acquire(`${name}:1`), undefined, 'nor does the same client');
      await a.release(held);
      const next = await b.acquire(`${name}:1`);
      assert.notEqual(next, undefined);
      await b.release(next);
    });

    test('two keys are two locks', async (t) => {
      const client = await open(t, library, once.settings);
      const held = [await client.acquire(`${name}:2a`), await client.acquire(`${name}:2b`)];
      assert.ok(held.every((handle) => handle !== undefined));
      for (const handle of held) await client.release(handle);
    });

    test('a lock has an end, should its holder die', async (t) => {
      await admin.flushall();
      const client = await open(t, library, once.settings);
      const held = await client.acquire(`${name}:3`);
      for (const key of await admin.keys('*')) assert.ok((await admin.pttl(key)) > 1_000, key);
      await client.release(held);
    });

    test('a lock that was lost cannot be released without a word', { skip: SILENT.includes(name) }, async (t) => {
      const client = await open(t, library, once.settings);
      const held = await client.acquire(`${name}:4`);
      await admin.flushall();
      await assert.rejects(async () => client.release(held));
    });

    test('a Redis that fails is an error, and not a lock that others hold', async (t) => {
      const client = await open(t, library, once.settings);
      await admin.acl('SETUSER', 'default', '-eval', '-evalsha', '-set');
      t.after(() => admin.acl('SETUSER', 'default', '+@all'));
      const outcome = client.acquire(`${name}:5`).then(
        (handle) => (handle === undefined ? 'contended' : 'held'),
        () => 'failed',
      );
      assert.equal(await outcome, 'failed');
    });

    const waits = { skip: !library.waits };
    test('a waiter gets the lock when it is free', waits, async (t) => {
      const [a, b] = [await open(t, library, patient), await open(t, library, patient)];
      const held = await a.acquire(`${name}:6`);
      let got = false;
      const waiting = b.acquire(`${name}:6`).then((handle) => {
        got = true;
        return handle;
      });
      await sleep(60);
      assert.equal(got, false);
      await a.release(held);
      await b.release(await waiting);
    });

    test('no update is lost', waits, async (t) => {
      const settings = MAY_HANG.includes(name) ? once.settings : patient;
      const both = [await open(t, library, settings), await open(t, library, settings)];
      let counter = 0;
      const caller = async (client) => {
        for (let i = 0; i < SECTIONS; i++) {
          let handle;
          while ((handle = await client.acquire(`${name}:7`)) === undefined);
          const read = counter;
          await turn();
          counter = read + 1;
          await client.release(handle);
        }
      };
      await Promise.all(both.flatMap((client) => Array.from({ length: CALLERS }, () => caller(client))));
      assert.equal(counter, both.length * CALLERS * SECTIONS);
    });
  });
}
