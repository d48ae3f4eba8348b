import { expect } from '@jest/globals';
import { firstValueFrom } from 'rxjs';
import { filter } from 'rxjs/operators';
import type { LockEvent } from '../../../lib/engine/lock-event.js';
import type { LockConnectionOption } from '../../../lib/module/redis-lock.connection.js';
import type { LockHandle } from '../../../lib/service/handles/lock-handle.js';
import type { LockService } from '../../../lib/service/lock.service.js';
import { SCRIPTS } from '../../../lib/store/redis/scripts.generated.js';
import { eventually } from '../wait/eventually.mjs';
import { LockServices } from './lock-services.js';
import { aborted, redisKey, timed } from './locks.js';
import type { RedisServer } from '../servers/redis-server.mjs';
import { RespProxy, type Fault } from '../proxies/resp-proxy.mjs';

/**
 * Long enough for a renewal to come through a new connection on a busy machine, short enough for a test to see a renewal.
 */
const LEASE = 5_000;
const COMMAND_TIMEOUT = 5_000;
/** The first holder keeps the lock until a renewal has come through, which may need several attempts on a busy machine. */
const WAIT_TIMEOUT = 30_000;
/** Less than the time to the first renewal. */
const SHORT_WAIT = 60;
const KEPT = 120;

const next = (service: LockService, type: LockEvent['type']): Promise<LockEvent> =>
  firstValueFrom(service.events.pipe(filter((event) => event.type === type)));

/** Rejects when the lock is lost: the awaited event does not happen then. */
const lossOf = async ({ signal }: LockHandle): Promise<never> => {
  throw await aborted(signal);
};

export interface LockScenario {
  readonly connection: LockConnectionOption;
  readonly key: string;
  /** A client whose connection is not disturbed. */
  readonly observer: LockService;
  /** ms */
  readonly lease?: number;
  /** ms */
  readonly commandTimeout?: number;
}

/**
 * All commands that an exclusive lock sends to Redis, by two clients of `connection`: acquire, wait, give up waiting,
 * renew, extend, hand off, verify, keep for `holdAtLeast`, release. This must be the result no matter what happens to
 * the commands on the way.
 */
export async function playLockScenario(
  services: Pick<LockServices, 'start'>,
  { connection, key, observer, lease = LEASE, commandTimeout = COMMAND_TIMEOUT }: LockScenario,
): Promise<void> {
  const options = { connection, renewedLease: lease, commandTimeout };
  const [one, other] = [await services.start(options), await services.start(options)];

  const first = await one.acquire(key);
  const contended = next(other, 'contended');
  const renewed = next(one, 'renewed');
  let secondHeldFrom = Infinity;
  const second = other.acquire(key, { holdAtLeast: KEPT, waitTimeout: WAIT_TIMEOUT }).then((lock) => {
    secondHeldFrom = performance.now();
    return lock;
  });
  second.catch(() => undefined);
  // A call that fails before that says why.
  await Promise.race([contended, second]);

  const impatient = await timed(one.acquire(key, { owner: 'impatient', waitTimeout: SHORT_WAIT }));
  // Without an answer so far the client cannot say that others held it.
  expect(['LOCK_TIMEOUT', 'LOCK_STORE']).toContain(impatient.error?.code);
  expect(impatient.ran).toBeLessThan(SHORT_WAIT + 1_200);

  await Promise.race([renewed, lossOf(first)]);
  expect((await observer.inspect(key))?.holders.map(({ fencingToken }) => fencingToken)).toEqual([first.fencingToken]);
  await first.extend(lease + 100);
  first.assertHeld();
  const firstHeldUntil = performance.now();
  expect(await first.release()).toBe(true);

  const lock = await second;
  expect(secondHeldFrom).toBeGreaterThanOrEqual(firstHeldUntil);
  expect(lock.fencingToken).toBeGreaterThan(first.fencingToken);
  await lock.verify();
  expect((await observer.inspect(key))?.holders).toHaveLength(1);
  const [secondHeldUntil, since] = [performance.now(), performance.timeOrigin + performance.now()];
  expect(await lock.release()).toBe(true);

  const third = await one.acquire(key);
  expect(performance.now()).toBeGreaterThanOrEqual(secondHeldUntil);
  expect(third.fencingToken).toBeGreaterThan(lock.fencingToken);
  const info = await observer.inspect(key);
  expect(info?.holders.map(({ fencingToken, kept }) => [fencingToken, kept])).toEqual([[third.fencingToken, false]]);
  expect(info!.holders[0]!.since.getTime()).toBeGreaterThanOrEqual(since - 1_000);
  expect(await third.release()).toBe(true);
}

/**
 * Plays the scenario with a fault of a proxy. Returns the failure, if there is one, the command that the fault has hit, and
 * all commands that have passed the proxy.
 */
export async function playWithFault(scenario: LockScenario, proxy: RespProxy, fault?: Fault) {
  let hit: string | undefined;
  void fault?.happened.then(({ name, args }) => (hit = `${name} ${args[0] ?? ''}`));
  const services = new LockServices();
  const { error } = await timed(playLockScenario(services, scenario));
  fault?.cancel();
  const commands = [...proxy.commands];
  await services.closeAll();
  return { commands, hit, error };
}

/** Plays the scenario with a fault at each of `count` commands, so many at once, since they mostly wait. None may fail. */
export async function playWithEachFault(
  count: number,
  atOnce: number,
  play: (n: number) => ReturnType<typeof playWithFault>,
): Promise<void> {
  const failures: string[] = [];
  let missed = 0;
  const left = Array.from({ length: count }, (_, i) => i + 1);
  const player = async (): Promise<void> => {
    for (let n = left.shift(); n !== undefined; n = left.shift()) {
      const { hit, error } = await play(n);
      if (hit === undefined) missed += 1;
      if (error !== undefined) failures.push(`command ${n} (${hit}): ${error.message}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, player));
  expect(failures).toEqual([]);
  // How often a waiter asks again is a matter of milliseconds, so the last numbers may not be reached every time.
  expect(missed).toBeLessThanOrEqual(2);
}

/**
 * An acquire that reaches the server after its own leave: it is on its way (the server did not know its script) when its
 * caller gives up, and the leave passes it. It takes nothing.
 */
export async function leaveBeforeComing(redis: RedisServer, url: string): Promise<void> {
  const key = 'left';
  const services = new LockServices();
  await using proxy = await RespProxy.start(redis);
  const login = /\/\/.*@|\/\//.exec(url)![0];
  const service = await services.start({ connection: proxy.url.replace('//', login), commandTimeout: 800 });
  await redis.admin.script('FLUSH', 'SYNC');
  await redis.admin.script('LOAD', SCRIPTS.release.source);
  proxy.holdReplies();
  const left = proxy.seen({ names: ['evalsha'], nth: 2 });
  const { error } = await timed(service.acquire(key, { waitTimeout: 30 }));
  expect(error).toMatchObject({ code: 'LOCK_STORE' });
  await left;
  await eventually(() => redis.admin.exists(redisKey('tombstones', key)));
  const come = proxy.seen({ names: ['eval'] });
  proxy.heal();
  await come;
  // Answered after the earlier commands: so they have been executed by then.
  await service.inspect(key);
  // Not even for a moment: there is no token of it.
  expect(await redis.admin.exists(redisKey('state', key), redisKey('queue', key), redisKey('fence', key))).toBe(0);
  await services.closeAll();
}
