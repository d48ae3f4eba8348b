import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import type { LockCredentials } from 'nestjs-redis-locks';
import { endAtOnce, LockBench, type RespProxy, eventually, lockError } from '../../lab/testbed/locks/locks.js';

/** ms for which a login is valid. */
const VALID = 3_000;

const bench = new LockBench({ records: true });
let proxy: RespProxy;
/** How many connections the proxy has cut. */
let cuts: number;

beforeAll(() => bench.redis.admin.acl('SETUSER', 'app', 'on', '>first', '+@all', '~*', '&*'));
/** Stands in for a managed Redis: cuts each connection `VALID` ms after its last AUTH or HELLO. */
beforeEach(async () => {
  proxy = await bench.proxy();
  cuts = 0;
  const timers = new Map<number, NodeJS.Timeout>();
  proxy.onCommand(({ name, connection }) => {
    if (name !== 'auth' && name !== 'hello' && timers.has(connection)) return;
    clearTimeout(timers.get(connection));
    const cut = (): void => {
      cuts += proxy.openConnections.filter(({ id }) => id === connection).length;
      proxy.cutAll(({ id }) => id === connection);
    };
    timers.set(connection, setTimeout(cut, VALID).unref());
  });
});

it('no lock is lost and no waiter is delayed while passwords expire and change', async () => {
  let password = 'first';
  const credentials = jest.fn(async (): Promise<LockCredentials> => ({
    username: 'app',
    password,
    expiresAt: Date.now() + VALID,
  }));
  const connection = { host: '127.0.0.1', port: proxy.port, credentials };
  const [holder, waiter] = await bench.pair({ connection, renewedLease: '2s' });
  const held = await holder.acquire('held');
  const passed = await holder.acquire('passed');
  const waiting = waiter.acquire('passed', { waitTimeout: Infinity });
  for (const next of ['second', 'third']) {
    await sleep(VALID);
    await bench.redis.admin.acl('SETUSER', 'app', 'resetpass', `>${next}`);
    password = next;
  }
  await sleep(VALID);
  expect(held.isHeld).toBe(true);
  await held.verify();
  // Less than the 3 s after which a waiter asks by itself.
  expect((await endAtOnce(waiting, () => passed.release(), 2_500)).isHeld).toBe(true);
  expect(bench.told('lost')).toEqual([]);
  expect(cuts).toBe(0);
  // Each of the four connections has logged in several times.
  expect(credentials.mock.calls.length).toBeGreaterThan(12);
  expect(bench.lines.filter((line) => line.startsWith('error'))).toEqual([]);
  expect(await held.release()).toBe(true);
});

it('a function that fails, and a refused password, end no lock, and no log shows the password', async () => {
  await bench.redis.admin.acl('SETUSER', 'app', 'resetpass', '>third');
  const login = { username: 'app', password: 'third', expiresAt: () => Date.now() + VALID };
  let fails = false;
  const credentials = async (): Promise<LockCredentials> => {
    if (fails) throw new Error('the token service is away');
    return { ...login, expiresAt: login.expiresAt() };
  };
  const service = await bench.service({ connection: { host: '127.0.0.1', port: proxy.port, credentials } });
  const lock = await service.acquire('a');
  fails = true;
  await eventually(() => bench.lines.some((line) => line.includes('the token service is away')), {
    within: 20_000,
  });
  login.password = 'a wrong secret';
  fails = false;
  await sleep(500);
  login.password = 'third';
  await eventually(() => lock.verify().then(() => true), { within: 20_000 });
  expect(lock.isHeld).toBe(true);
  expect(await lock.release()).toBe(true);
  expect(JSON.stringify(bench.lines)).not.toContain('a wrong secret');
});

it.each<[string, unknown, string]>([
  ['no password', { username: 'app' }, 'password is undefined'],
  ['a time that is none', { password: 'x', expiresAt: 'soon' }, 'expiresAt is'],
  ['a time in seconds', { password: 'x', expiresAt: 1_790_000_000 }, 'expiresAt is in seconds, so multiply it by 1000'],
  ['a name of another library', { user: 'x', password: 'x' }, 'property "user" is unknown'],
])('the start says what a function has to return: %s', async (_what, login, message) => {
  const credentials = async (): Promise<LockCredentials> => login as LockCredentials;
  const connection = { host: '127.0.0.1', port: proxy.port, credentials };
  await expect(bench.service({ connection })).rejects.toEqual(lockError('LOCK_CONFIG', message));
});
