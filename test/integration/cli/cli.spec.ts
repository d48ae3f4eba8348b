import { readFileSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import type { LockLostError, LockState } from 'nestjs-redis-locks';
import { cli, CliProcess, manifest, program } from './cli.js';
import { aborted, LockBench, eventually, startRedis, lockError } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();
const run = (...args: string[]) => cli(bench.redis.url, args);

/** One caller holds `a` and another one waits for it, two read `b`. */
async function setUp() {
  const [one, other] = await bench.pair();
  const { lock, waiting } = await bench.contended(one, other, { waitTimeout: Infinity });
  waiting.catch(() => undefined);
  await one.acquire('b', { kind: 'read', owner: 'ann' });
  await other.acquire('b', { kind: 'read', owner: 'bob' });
  // The clients write their labels in the background.
  const named = async (): Promise<number> => (await bench.redis.admin.keys('lock:client:*')).length;
  await eventually(async () => (await named()) === 2, { what: 'the labels of two clients' });
  return { lock, waiting };
}

describe('the command line program', () => {
  const start = (...args: string[]) => program(bench.redis.url, args);

  it('prints its help and version', async () => {
    const [help, version] = await Promise.all([start('ls', '--help'), start('-v')]);
    expect([help.code, help.stdout]).toEqual([0, expect.stringMatching(/^Example: .* ls [^]*Exit codes: 0 success/m)]);
    expect(version.stdout).toBe(`${manifest.version}\n`);
  });

  it('loads nothing but itself for its help', () => {
    const text = readFileSync(new URL('../../../dist/esm/cli/main.js', import.meta.url), 'utf8');
    const imports = [...text.matchAll(/\bfrom ?['"]([^'"]+)['"]/g)].map(([, name]) => name);
    expect(imports).toEqual(['node:fs']);
  });

  it('explains a wrong command line, and exits with 2', async () => {
    expect(await start('list')).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/unknown command 'list'[^]*See nestjs-redis-locks --help/),
    });
  });

  it('exits with 1 if Redis cannot be reached, and never prints a password', async () => {
    const { code, stderr } = await program('redis://ann:secret@127.0.0.1:1', ['ls']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/127\.0\.0\.1:1: Redis failed: .*ECONNREFUSED/);
    const wrong = await program(bench.redis.url.replace('//', '//ann:secret@'), ['ls']);
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('WRONGPASS')]);
    expect(stderr + wrong.stderr).not.toContain('secret');
    for (const command of ['ls', 'doctor']) {
      const { code, stderr } = await cli(`${bench.redis.url}/99`, [command]);
      expect([code, stderr]).toEqual([
        1,
        expect.stringMatching(/^\S+ 127\.\S+: Redis failed: ERR DB index is out of range/),
      ]);
    }
  });
});

describe('ls', () => {
  it('shows holders, ages, leases and numbers of waiters', async () => {
    await setUp();
    const { code, stdout } = await run('ls');
    expect(code).toBe(0);
    const [headings, ...rows] = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {2,}/));
    expect(headings).toEqual(['KEY', 'HELD', 'HOLDER', 'OWNER', 'CONNECTION', 'FOR', 'LEASE LEFT', 'QUEUE']);
    expect(rows[0]).toEqual([
      'a',
      'exclusive',
      expect.stringMatching(new RegExp(`:${process.pid}$`)),
      '-',
      'connected',
      expect.stringMatching(/ m?s$/),
      expect.stringMatching(/ s$/),
      '1',
    ]);
    expect(rows.slice(1).map((row) => [...row.slice(0, 2), row[3]])).toEqual([
      ['b', 'read', 'ann'],
      ['', 'read', 'bob'],
    ]);
  });

  it('sorts, and shows only the locks of one client', async () => {
    const { lock } = await setUp();
    const one = await bench.service();
    await one.acquire('0', { renewedLease: '9s', owner: 'ann' }); // always the shortest lease
    const keysOf = async (...args: string[]) =>
      (JSON.parse((await run('ls', '--json', ...args)).stdout) as LockState[]).map(({ key }) => key);
    const lists = await Promise.all([
      keysOf(),
      keysOf('--sort', 'held'),
      keysOf('--sort', 'waiters'),
      keysOf('--sort', 'lease'),
      keysOf('--holder', 'ann'),
      keysOf('--holder', lock.owner.slice(0, 8)),
    ]);
    const [byKey, byAge, byWaiters, byLease, ann, client] = lists;
    expect([byKey, byAge, byWaiters]).toEqual([
      ['0', 'a', 'b'],
      ['a', 'b', '0'],
      ['a', '0', 'b'],
    ]);
    expect([byLease[0], ann]).toEqual(['0', ['0', 'b']]);
    expect(client).toContain('a');
  });

  it('accepts a pattern and a prefix, and writes JSON', async () => {
    await setUp();
    const service = await bench.service({ keyPrefix: 'shop:lock' });
    await service.acquire('order:{7}:pay');
    const [b, none, nobody, empty, shop] = await Promise.all([
      run('ls', 'b*', '--json'),
      run('ls', 'x*'),
      run('ls', 'b', '--holder', 'zoe'),
      run('ls', '-p', 'other'),
      run('ls', '--json', '-p', 'shop:lock'),
    ]);
    expect((JSON.parse(b.stdout) as LockState[]).map(({ key, holds }) => [key, holds])).toEqual([['b', 2]]);
    expect(none.stdout).toBe("No lock matches 'x*' (2 held).\n");
    expect(nobody.stdout).toBe("No lock matches 'b' and 'zoe' (2 held).\n");
    expect(empty.stdout).toMatch(
      /^No lock is held with the prefix 'other'\. Other clients have the prefix '[^']+', .*'shop:lock'.*: choose one with --prefix\.\n$/,
    );
    expect((JSON.parse(shop.stdout) as LockState[]).map(({ key }) => key)).toEqual(['order:{7}:pay']);
  });

  it('escapes foreign text, and writes colours on request', async () => {
    const service = await bench.service();
    await service.acquire('a\u202Eb');
    const [colored, plain] = await Promise.all([
      cli(bench.redis.url, ['ls'], { FORCE_COLOR: '1' }),
      cli(bench.redis.url, ['ls'], { FORCE_COLOR: '1', NO_COLOR: '1' }),
    ]);
    expect(plain.stdout).toContain('a\\u202eb');
    expect(colored.stdout).toContain('\u001b[1ma\\u202eb');
    expect(plain.stdout).not.toContain('\u001b');
  });

  it('accepts ioredis options as JSON, and several servers', async () => {
    const { host, port } = bench.redis;
    await using second = await startRedis();
    await using third = await startRedis();
    const urls = [bench.redis.url, second.url, third.url];
    const service = await bench.service({ connection: urls });
    await service.acquire('a');
    await third.kill();
    const where = [JSON.stringify({ host, port }), second.url, third.url].flatMap((each) => ['-c', each]);
    const { stdout, stderr, code } = await run('ls', '--json', '-t', '2s', ...where);
    expect([code, stderr]).toEqual([0, '']);
    expect((JSON.parse(stdout) as LockState[]).map(({ key, holds }) => [key, holds])).toEqual([['a', 1]]);
    await service.close();
  });
});

describe('inspect', () => {
  it('shows the holders with their tokens, and the queue', async () => {
    const { lock } = await setUp();
    const { code, stdout } = await run('inspect', 'a');
    expect(code).toBe(0);
    expect(stdout).toContain('a  1 holding, 1 process in the queue ');
    expect(stdout).toMatch(new RegExp(`${lock.fencingToken} +${lock.owner.slice(0, 8)} +20\\d\\d-`));
    expect(stdout).toMatch(/^1 +exclusive /m);
  });

  it('shows how many permits of how many are held', async () => {
    const service = await bench.service();
    const semaphore = service.getSemaphore('p', { permits: 3 });
    await semaphore.acquire(2);
    await semaphore.acquire();
    expect((await run('inspect', 'p')).stdout).toContain(', 3 of 3 permits, 0 processes in the queue ');
  });

  it('exits with 3 if the key is free', async () => {
    const [free, json] = await Promise.all([run('inspect', 'x'), run('inspect', 'x', '--json')]);
    expect(free).toEqual({ code: 3, stdout: "x is free and has no waiters, with the prefix 'lock'.\n", stderr: '' });
    expect(json).toEqual({ code: 3, stdout: 'null\n', stderr: '' });
  });

  it('names the prefixes of other clients if the key is free', async () => {
    await setUp();
    const { stdout } = await run('inspect', 'a', '--prefix', 'shop');
    expect(stdout).toBe(
      "a is free and has no waiters, with the prefix 'shop'. Other clients have the prefix 'lock': choose one with --prefix.\n",
    );
  });
});

describe('release', () => {
  it('refuses while the lock is held, and says why', async () => {
    const { lock } = await setUp();
    const [refused, json] = await Promise.all([run('release', 'a'), run('release', 'a', '--json')]);
    expect(refused).toEqual({ code: 3, stdout: '', stderr: expect.stringMatching(/a is held[^]*add --force/) });
    expect(JSON.parse(json.stdout)).toEqual({ key: 'a', held: true, released: false, refused: true });
    expect(lock.isHeld).toBe(true);
  });

  it('says of a crashed holder that it is not connected, when the lock ends, and what to do', async () => {
    const worker = await bench.worker({ label: 'crashed:1' });
    const observer = await bench.service();
    await worker.acquire('a', { expire: '1h' });
    expect((await run('release', 'a')).stderr).toMatch(
      / \(connected\), for [^]*A connected holder has not crashed: restart its process/,
    );
    await worker.process.kill();
    await eventually(async () => (await observer.inspect('a'))!.holders[0]!.connected === false);
    const [refused, seen, list] = await Promise.all([run('release', 'a'), run('inspect', 'a'), run('ls')]);
    expect(refused.stderr).toMatch(/ \(not connected\), for [^]*No holder is connected, so nothing renews the lock/);
    expect(refused.stderr).toMatch(/It ends at 20\d\d-\S+Z, in 59m \d+s\. If that is too\nlong, make sure/);
    expect(seen.stdout).toMatch(/exclusive .* not connected /);
    expect(list.stdout).toMatch(/exclusive .* not connected /);
    await observer.forceRelease('a');
  });

  it('with --force hands the lock to the next waiter, and notifies its holder', async () => {
    const { lock, waiting } = await setUp();
    const me = `${userInfo().username}@${hostname()}`;
    const label = `${hostname()}:${process.pid}`;
    expect(await run('release', 'a', '--force')).toEqual({
      ...{ code: 0, stderr: '' },
      stdout: `a was released by ${me}, from ${label}.\nThe next holder is ${label}.\n`,
    });
    const loss = (await aborted(lock.signal)) as LockLostError;
    expect(loss).toMatchObject({
      lossReason: 'forced',
      forcedBy: me,
      message: expect.stringContaining(`force by ${me}`),
    });
    await (await waiting).release();
    expect(await run('release', 'a')).toEqual({
      code: 0,
      stdout: "a is not held with the prefix 'lock'.\n",
      stderr: '',
    });
  });
});

it('release --hold ends one hold by force, and leaves the others', async () => {
  await setUp();
  const service = await bench.service();
  const { stderr } = await run('release', 'b');
  const [ann, bob] = (await service.inspect('b'))!.holders.map(({ id }) => id);
  expect(stderr).toContain(`${ann}: `);
  const refused = await run('release', 'b', '--hold', bob!, '--json');
  expect([refused.code, JSON.parse(refused.stdout)]).toEqual([
    3,
    { key: 'b', hold: bob, held: true, released: false, refused: true },
  ]);
  expect(await run('release', 'b', '--force', '--hold', bob!)).toEqual({
    code: 0,
    stdout: expect.stringContaining(`Hold ${bob} of b was released by `),
    stderr: '',
  });
  expect((await service.inspect('b'))!.holders.map(({ id }) => id)).toEqual([ann]);
  expect(await run('release', 'b', '--force', '--hold', bob!)).toMatchObject({
    stdout: `b has no hold ${bob} with the prefix 'lock'.\n`,
  });
});

it('release --holder ends the holds of the clients that the text names, and leaves the others', async () => {
  await setUp();
  const service = await bench.service();
  const [ann, bob] = (await service.inspect('b'))!.holders.map(({ id }) => id);
  expect(await run('release', 'b', '--holder', 'bob')).toMatchObject({
    ...{ code: 3, stdout: '', stderr: expect.stringMatching(/--holder LABEL/) },
  });
  expect(await run('release', 'b', '--force', '--holder', 'zoe')).toEqual({
    ...{ code: 0, stdout: "b has no hold of 'zoe' with the prefix 'lock'.\n", stderr: '' },
  });
  expect((await service.inspect('b'))!.holders.map(({ id }) => id)).toEqual([ann, bob]);
  expect(await run('release', 'b', '--force', '--holder', 'bob')).toEqual({
    ...{ code: 0, stdout: expect.stringMatching(/^b \(1 hold of 'bob'\) was released by /), stderr: '' },
  });
  expect((await service.inspect('b'))!.holders.map(({ id }) => id)).toEqual([ann]);
});

it('watch continues until it is interrupted', async () => {
  const { lock, waiting } = await setUp();
  const watch = new CliProcess(bench.redis.url, ['watch', 'a', '--json', '-i', '20ms']);
  const looks = () =>
    watch.stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => (JSON.parse(line) as { locks: LockState[] }).locks);
  await eventually(() => looks().length >= 2, { within: 60_000 });
  await lock.release();
  await (await waiting).release();
  await eventually(() => looks().at(-1)!.length === 0, { within: 60_000 });
  watch.kill('SIGINT');
  expect((await watch.ended).code).toBe(0);
  expect(looks()[0]).toMatchObject([{ key: 'a', waiters: [{ kind: 'exclusive' }] }]);
});

/** Keys under the prefix that are no locks, with a TTL as all that a test leaves behind. */
async function writeForeign(): Promise<string[]> {
  const { admin } = bench.redis;
  await admin.set('lock:state:{text}', 'of another program', 'EX', 60);
  await admin.hset('lock:state:{hash}', 'of', 'another program');
  await admin.hset('lock:state:{mode}', 'x:1', `sideways held ${Date.now() + 60_000} 1 1 owner`);
  await admin.hset('lock:state:{numbers}', 'x:1', `exclusive held soon many never owner`);
  for (const key of ['hash', 'mode', 'numbers']) await admin.pexpire(`lock:state:{${key}}`, 60_000);
  return ['text', 'hash', 'mode', 'numbers'];
}

describe('foreign values under the prefix', () => {
  it('ls and watch show the locks, and name the skipped keys', async () => {
    const keys = await writeForeign();
    const service = await bench.service();
    await service.acquire('held');
    const [table, json] = await Promise.all([run('ls'), run('ls', '--json')]);
    expect(table).toMatchObject({ code: 0, stdout: expect.stringContaining('held') });
    expect((JSON.parse(json.stdout) as LockState[]).map(({ key }) => key)).toContain('held');
    for (const { stderr } of [table, json]) {
      expect(stderr).toContain('"text" is skipped');
      expect(stderr).toContain('WRONGTYPE');
    }
    for (const key of keys) {
      const { code, stderr } = await run('inspect', key);
      expect({ key, code: [0, 1, 3].includes(code!) }).toEqual({ key, code: true });
      expect(stderr).not.toMatch(/TypeError|RangeError|Cannot read|Invalid time/);
    }
  });

  it('foreign text is escaped, in text and in JSON', async () => {
    const evil = '\u001b]0;x\u0007\u009b31m\u007f\u202e\u2066\u200b';
    const { admin } = bench.redis;
    const field = `${evil}:1`;
    const hold = `exclusive held ${Date.now() + 60_000} 1 ${Date.now()} ${evil.replace(/\s/g, '')}`;
    await admin.hset(`lock:state:{${evil}}`, field, hold);
    await admin.pexpire(`lock:state:{${evil}}`, 60_000);
    await admin.hset('lock:state:{plain}', field, hold);
    await admin.pexpire('lock:state:{plain}', 60_000);
    const outputs = await Promise.all([
      run('ls'),
      run('ls', '--json'),
      run('inspect', 'plain'),
      run('inspect', 'plain', '--json'),
      run('release', 'plain'),
      run('release', 'plain', '--json'),
    ]);
    for (const { stdout, stderr } of outputs) {
      expect(`${stdout}${stderr}`).not.toMatch(
        /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/,
      );
    }
    const [listed] = JSON.parse(outputs[1].stdout) as LockState[];
    expect(JSON.parse(outputs[3].stdout).holders[0].client).toBe(evil);
    expect(listed).toBeDefined();
  });

  it('facts about a client are cut and escaped, and left out if they are no text', async () => {
    const service = await bench.service();
    const { admin } = bench.redis;
    const evil = 'orders\u001b]0;x\u0007\u009b31m\r\n\u202e';
    const records = {
      evil: { label: evil, sites: [[evil, evil]] },
      long: { label: 'x'.repeat(100_000), sites: [['y'.repeat(100_000), 'z'.repeat(100_000)]] },
      numbers: { label: 7, sites: [[1, 2]] },
      objects: { label: { toString: 1 }, sites: [{ length: 1e9 }] },
      none: null,
      list: [],
    };
    for (const [client, record] of Object.entries(records)) {
      await admin.set(`lock:client:${client}`, JSON.stringify(record), 'PX', 60_000);
      const hold = `exclusive held ${Date.now() + 60_000} 1 ${Date.now()} ${client}:1:0`;
      await admin.hset(`lock:state:{${client}}`, `${client}:1:0`, hold);
      await admin.pexpire(`lock:state:{${client}}`, 60_000);
    }
    const names = Object.keys(records);
    const outputs = await Promise.all([run('ls'), run('ls', '--json'), ...names.map((name) => run('inspect', name))]);
    for (const { code, stdout, stderr } of outputs) {
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout.length).toBeLessThan(20_000);
      expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    }
    for (const name of names) {
      const [holder] = (await service.inspect(name))!.holders;
      const { label = '', pattern = '', method = '' } = holder!;
      for (const text of [label, pattern, method]) expect(text).toMatch(/^[!-~]{0,1000}$/);
      const error = await service.acquire(name, { waitTimeout: 0 }).catch((thrown: Error) => thrown);
      expect(error).toEqual(lockError('LOCK_TIMEOUT', /^[ -~]{1,3000}$/));
    }
  });
});
