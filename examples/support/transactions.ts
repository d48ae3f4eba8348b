import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import type { Type } from '@nestjs/common';
import { isLockLostError } from 'nestjs-redis-locks';
import { type Replica, spread, useReplicas } from './replicas.js';

/** The stock of one replica, in the database that both replicas share. */
export interface Stocks {
  insert(sku: string, quantity: number): Promise<unknown>;
  quantityOf(sku: string): Promise<number>;
  /** Sells one piece in a transaction within a lock, and returns how many are left. Calls `check` before it writes. */
  reserve(sku: string, check?: () => Promise<unknown>): Promise<number>;
}

/** Tests that hold for every database library, on two replicas with one SQLite file. */
export function testTransactions(module: Type, stocksOf: (replica: Replica) => Stocks): readonly [Replica, Replica] {
  const directory = mkdtempSync(join(tmpdir(), 'locks-example-'));
  process.env['DATABASE'] = join(directory, 'stock.sqlite');
  const replicas = useReplicas(module);
  after(() => rmSync(directory, { recursive: true, force: true }));

  it('within a lock sell what there is, and no more', async () => {
    await stocksOf(replicas[0]).insert('lamp', 15);
    const sales = await spread(replicas, 20, (replica) =>
      stocksOf(replica)
        .reserve('lamp')
        .then(
          () => 'sold',
          (error: Error) => error.message,
        ),
    );
    assert.equal(sales.filter((sale) => sale === 'sold').length, 15);
    assert.equal(sales.filter((sale) => sale === 'lamp is sold out').length, 5);
    assert.equal(await stocksOf(replicas[0]).quantityOf('lamp'), 0);
  });

  it('are rolled back when the lock was lost before the commit', async () => {
    const [first, second] = replicas;
    await stocksOf(first).insert('chair', 5);
    const takenAway = (): Promise<unknown> => second.locks.forceRelease('stock:chair');
    await assert.rejects(stocksOf(first).reserve('chair', takenAway), isLockLostError);
    assert.equal(await stocksOf(first).quantityOf('chair'), 5);
    assert.equal(await stocksOf(second).reserve('chair'), 4);
  });
  return replicas;
}
