import { readFileSync } from 'node:fs';
import * as errors from '../../../lib/errors/index.js';
import { storeFailure } from '../../../lib/store/redis/store-failure.js';
import { LOCK_CHANNELS } from 'nestjs-redis-locks/diagnostics';
import type { LockEvent } from 'nestjs-redis-locks';
import { LockBench } from '../../../lab/testbed/locks/locks.js';

const read = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
const ERRORS = read('docs/errors.md');
const GUIDE = read('docs/stuck-key.md');

/** The rows of the table with this head, cell by cell, without the backticks around a cell. */
function tableOf(head: string): string[][] {
  const [, rows = ''] = ERRORS.split(`\n| ${head} |\n`)[1]?.split(/^\|(?:---\|)+\n/m) ?? [];
  const lines = rows.split('\n\n')[0]!.trim().split('\n');
  return lines.map((line) => line.slice(2, -2).split(' | '));
}
const words = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, word]) => word!);

describe('docs/errors.md', () => {
  it('lists every error code, and no other', () => {
    const classes = Object.values(errors).filter(
      (value) => (value as { prototype?: unknown }).prototype instanceof Error,
    );
    const codes = classes
      .filter((type) => type !== errors.LockError)
      .map((type) => new (type as typeof errors.LockKeyError)('').code as string);
    expect(codes).toHaveLength(7);
    const rows = tableOf('class, code | means | what to do');
    expect(rows.map(([cell]) => words(`\`${cell!}`)[1]).sort()).toEqual(codes.sort());
  });

  it('lists every event, and no other', () => {
    const types = Object.keys(LOCK_CHANNELS).filter((name): name is LockEvent['type'] => name !== 'acquire');
    expect(
      tableOf('`type` | means | also has')
        .flatMap(([type]) => words(type!))
        .sort(),
    ).toEqual(types.sort());
  });

  it('lists every reason for which a lock is lost', () => {
    const rows = tableOf('`lossReason` | `reason` | why, and what to check');
    expect(rows.map(([code, reason]) => [...words(code!), reason])).toEqual(Object.entries(errors.LOSS_REASONS));
  });

  it('says which errors of Redis are transient, and covers all errors with advice', () => {
    const [permanent, transient] = ERRORS.split('\n## Failures of Redis\n')[1]!
      .split('\n## ')[0]!
      .split('\nTransient, ');
    const wordsIn = (part = ''): string[] =>
      [...part.matchAll(/^- (.*?):(?: |$)/gm)].flatMap(([, says]) => words(says!));
    const said = [
      ...wordsIn(permanent).map((word) => [word, false]),
      ...wordsIn(transient).map((word) => [word, true]),
    ];
    expect(said).toEqual(said.map(([word]) => [word, storeFailure(new Error(`${word!} of the server`)).transient]));
    const advised = [...read('lib/store/redis/store-failure.ts').matchAll(/^ {2}\[\/(.*?)\/,/gm)].flatMap(
      ([, pattern]) => pattern!.match(/[A-Z]{3,}/g)!,
    );
    expect(advised.length).toBeGreaterThan(5);
    expect(said.map(([word]) => word)).toEqual(expect.arrayContaining(advised));
  });
});

describe('a lock in redis-cli', () => {
  const bench = new LockBench();

  const [, block = ''] = /^```sh\n(redis-cli HGETALL.*?)^```$/ms.exec(GUIDE) ?? [];
  const commands = [...block.matchAll(/^redis-cli (.*?) +# /gm)].map(([, line]) =>
    line!.replaceAll("'", '').split(' '),
  );
  const call = ([name, ...args]: string[]) => bench.redis.admin.call(name!, ...args);

  it('can be read and released with the commands of docs/stuck-key.md', async () => {
    expect(commands.map(([name]) => name)).toEqual(['HGETALL', 'PTTL', 'ZRANGE', 'HGETALL', 'PUBSUB', 'DEL']);
    const [one, other] = await bench.pair();
    const since = Date.now();
    const { lock: held, waiting } = await bench.contended(one, other, { key: 'stock:42' });
    const { waiters } = (await one.inspect('stock:42'))!;
    const [state, ttl, queue, known, clients] = await Promise.all(commands.slice(0, 5).map(call));
    const [id, hold] = state as [string, string];
    const [mode, status, ends, token, begun, owner] = hold.split(' ');
    expect([id, mode, status, token, owner]).toEqual([
      held.owner,
      'exclusive',
      'held',
      String(held.fencingToken),
      held.owner,
    ]);
    expect(Math.abs(Number(begun) - since)).toBeLessThan(2_000);
    expect(Number(ends) - Number(begun)).toBe(30_000);
    expect(ttl).toBeGreaterThan(25_000);
    expect(queue).toEqual([waiters[0]!.id]);
    expect((known as string[])[0]).toBe(waiters[0]!.id);
    const channels = [held.owner, waiters[0]!.client].map((each) => `lock:client:${each.split(':')[0]!}`);
    expect([...(clients as string[])].sort()).toEqual(channels.sort());

    expect(await call(commands[5]!)).toBe(1);
    const freed = performance.now();
    const next = await waiting;
    expect(performance.now() - freed).toBeLessThan(4_500);
    expect(next.fencingToken).toBeGreaterThan(held.fencingToken);
    await expect(held.verify()).rejects.toMatchObject({ code: 'LOCK_LOST' });
    await next.release();
  });

  it('with a hash tag of its own has the documented name', async () => {
    const service = await bench.service();
    await service.acquire('order:{42}:pay');
    expect(GUIDE).toContain('`lock:state:order:{42}:pay`');
    expect(await bench.redis.admin.exists('lock:state:order:{42}:pay')).toBe(1);
  });
});
