import { readFileSync } from 'node:fs';
import { PGlite } from '@electric-sql/pglite';
import { Injectable, type INestApplicationContext, type Type } from '@nestjs/common';
import { currentLock, DistributedLock, LockService } from 'nestjs-redis-locks';
import { Database, type Queries } from '../../../examples/fencing-postgres/src/database.js';
import { PriceService } from '../../../examples/fencing-postgres/src/price.service.js';
import { StaleWriteError } from '../../../examples/fencing-postgres/src/stale-write.error.js';
import { StockRepository } from '../../../examples/fencing-postgres/src/stock.repository.js';
import { StockTakingService } from '../../../examples/fencing-postgres/src/stock-taking.service.js';
import { TransferService } from '../../../examples/fencing-postgres/src/transfer.service.js';
import { Warehouse } from '../../../examples/fencing-postgres/src/warehouse.js';
import { deferred, type Deferred } from '../../../lab/testbed/wait/deferred.js';
import { NestBench, Work } from '../nest/support.js';

const SCHEMA = readFileSync(new URL('../../../examples/fencing-postgres/schema.sql', import.meta.url), 'utf8');
/** A lease that is not renewed stands for a process that is stopped: in both Redis gives the key to the next. */
const SHORT = 700;
const LONG = 60_000;
const STALE = expect.objectContaining({ code: 'LF001' });

const bench = new NestBench();
let database: PGlite;

beforeAll(async () => {
  database = await PGlite.create();
  await database.exec(SCHEMA);
});
beforeEach(async () => {
  await database.exec(`
    TRUNCATE stock, lock_fences, transfers, prices, accounts;
    INSERT INTO stock VALUES ('lamp', 10);
    INSERT INTO accounts VALUES ('ann', 100), ('bob', 100);`);
});
afterAll(() => database.close());

/** A warehouse that answers when the test says so, and does not look at the signal. */
class SlowWarehouse extends Warehouse {
  readonly asked = deferred();
  readonly answer: Deferred<number> = deferred<number>();

  override countArrivals(): Promise<number> {
    this.asked.resolve();
    return this.answer;
  }
}

/** One process of several: an application of its own, on the same Redis and the same database. */
async function start<Service>(service: Type<Service>, expire = LONG, warehouse: Warehouse = new SlowWarehouse()) {
  const providers = [
    service,
    StockRepository,
    { provide: Database, useValue: database },
    { provide: Warehouse, useValue: warehouse },
  ];
  return bench.boot({ providers }, { defaults: { expire } });
}

const lockOf = (app: INestApplicationContext, key: string) => app.get(LockService).acquire(key);

async function only<Row>(sql: string): Promise<Row> {
  const { rows } = await database.query<Row>(sql);
  expect(rows).toHaveLength(1);
  return rows[0]!;
}

const inStock = async () =>
  (await only<{ quantity: number }>(`SELECT quantity FROM stock WHERE sku = 'lamp'`)).quantity;

describe('a fence in the row', () => {
  /** Counts three lamps, and has not come back from the warehouse when its lease ends. */
  async function stalled(expire: number) {
    const warehouse = new SlowWarehouse();
    const app = await start(StockTakingService, expire, warehouse);
    const ended = app.get(StockTakingService).addArrivals('lamp');
    ended.catch(() => undefined);
    await warehouse.asked;
    return { ended, goOn: () => warehouse.answer.resolve(3) };
  }

  it('lets the holder write', async () => {
    const { ended, goOn } = await stalled(LONG);
    goOn();
    expect(await ended).toBe(13);
    expect(await inStock()).toBe(13);
  });

  it('refuses a holder that writes after its lease and its successor', async () => {
    const first = await stalled(SHORT);
    const second = await stalled(LONG); // waits for the lease of the first
    second.goOn();
    expect(await second.ended).toBe(13);
    first.goOn();
    await expect(first.ended).rejects.toThrow(StaleWriteError);
    expect(await inStock()).toBe(13);
  });

  it('refuses it even if its successor has only read so far', async () => {
    const first = await stalled(SHORT);
    const second = await stalled(LONG);
    first.goOn();
    await expect(first.ended).rejects.toThrow(StaleWriteError);
    second.goOn();
    expect(await second.ended).toBe(13);
  });

  it('commits nothing after a loss without a successor: verify() reports it', async () => {
    const warehouse = new SlowWarehouse();
    const app = await start(StockTakingService, LONG, warehouse);
    const ended = app.get(StockTakingService).addArrivals('lamp');
    ended.catch(() => undefined);
    await warehouse.asked;
    expect(await app.get(LockService).forceRelease('stock:lamp')).toBe(true);
    warehouse.answer.resolve(3);
    await expect(ended).rejects.toMatchObject({ code: 'LOCK_LOST' });
    expect(await inStock()).toBe(10);
  });
});

describe('without a fence', () => {
  /** Does all that can be done without one: it asks Redis right before it writes. And is stopped in between. */
  @Injectable()
  class TrustingService {
    @DistributedLock('stock:#{#sku}')
    async addArrivals(sku: string, arrived: number, beforeWriting = async () => {}): Promise<void> {
      const { quantity } = await only<{ quantity: number }>('SELECT quantity FROM stock');
      await currentLock().verify();
      await beforeWriting();
      await database.query('UPDATE stock SET quantity = $2 WHERE sku = $1', [sku, quantity + arrived]);
    }
  }

  it('the same schedule overwrites what the successor wrote', async () => {
    const gate = new Work();
    const first = (await start(TrustingService, SHORT)).get(TrustingService).addArrivals('lamp', 3, () => gate.run());
    first.catch(() => undefined);
    await gate.begun;
    await (await start(TrustingService)).get(TrustingService).addArrivals('lamp', 5);
    expect(await inStock()).toBe(15);
    gate.end.resolve();
    await expect(first).rejects.toMatchObject({ code: 'LOCK_LOST' }); // after the fact
    expect(await inStock()).toBe(13);
  });

  it('without raising it in readers, a late write is possible', async () => {
    const repository = new StockRepository(database);
    const [late, next] = [await lockOf(await start(TrustingService, SHORT), 'a'), await start(TrustingService)];
    const { fencingToken } = await lockOf(next, 'a');
    const { quantity: read } = await only<{ quantity: number }>('SELECT quantity FROM stock');
    await repository.write('lamp', 13, late.fencingToken);
    await repository.write('lamp', read + 5, fencingToken);
    expect(await inStock()).toBe(15); // three lamps are gone
  });
});

describe('fences in a table of their own', () => {
  it('accept a transaction that has the largest tokens of all its keys', async () => {
    const app = await start(TransferService);
    await app.get(TransferService).transfer('ann', 'bob', 30);
    await app.get(TransferService).transfer('bob', 'ann', 5);
    const { rows } = await database.query('SELECT id, balance FROM accounts ORDER BY id');
    expect(rows).toEqual([
      { id: 'ann', balance: 75 },
      { id: 'bob', balance: 125 },
    ]);
    expect(await only('SELECT count(*)::int AS transfers FROM transfers')).toEqual({ transfers: 2 });
  });

  it('refuse the whole transaction if one of its tokens is late', async () => {
    const app = await start(TransferService, SHORT);
    const late = await lockOf(app, 'account:bob');
    const successor = await lockOf(await start(TransferService), 'account:bob'); // waits for the lease
    expect(successor.fencingToken).toBeGreaterThan(late.fencingToken);
    const pass = (token: number, queries: Queries = database) =>
      queries.query('SELECT pass_fence($1, $2)', ['account:bob', token]);
    await pass(successor.fencingToken);
    await pass(successor.fencingToken); // as often as it likes
    const work = database.transaction(async (transaction) => {
      await transaction.query(`UPDATE accounts SET balance = 0`);
      await pass(late.fencingToken, transaction);
    });
    await expect(work).rejects.toEqual(STALE);
    expect(await only('SELECT sum(balance)::int AS sum FROM accounts')).toEqual({ sum: 200 });
  });
});

describe('a trigger', () => {
  const write = (cents: number) => (transaction: Queries, sku: string) =>
    transaction.query(
      'INSERT INTO prices (sku, cents) VALUES ($1, $2) ON CONFLICT (sku) DO UPDATE SET cents = EXCLUDED.cents',
      [sku, cents],
    );
  const price = () => only<{ cents: number }>('SELECT cents FROM prices');

  it('gives each row the token of its writer, and refuses late writers', async () => {
    const prices = (await start(PriceService)).get(PriceService);
    const late = await lockOf(await start(PriceService, SHORT), 'price:lamp');
    await prices.change('lamp', write(300)); // waits for the lease
    for (const statement of ['UPDATE prices SET cents = 200', 'DELETE FROM prices']) {
      const work = database.transaction(async (transaction) => {
        await transaction.query("SELECT set_config('locks.fencing_token', $1, true)", [String(late.fencingToken)]);
        await transaction.query(statement);
      });
      await expect(work).rejects.toEqual(STALE);
    }
    expect(await price()).toEqual({ cents: 300 });
  });

  it('refuses a write without a token, even after transactions with one', async () => {
    const prices = (await start(PriceService)).get(PriceService);
    await prices.change('lamp', write(100));
    const unfenced = database.query('UPDATE prices SET cents = 1');
    await expect(unfenced).rejects.toMatchObject({ code: 'LF002' });
    await prices.change('lamp', (transaction) => transaction.query('DELETE FROM prices'));
    expect((await database.query('SELECT * FROM prices')).rows).toEqual([]);
  });
});
