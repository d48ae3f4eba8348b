import type { AddressInfo } from 'node:net';
import { after, before } from 'node:test';
import type { AbstractHttpAdapter } from '@nestjs/core';
import type { INestApplication, Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { LockService, type LockHandle } from 'nestjs-redis-locks';
import { Accounts } from './accounts.js';

/** An application that runs, as one of several beside each other. */
export interface Replica {
  readonly app: INestApplication;
  readonly accounts: Accounts;
  readonly locks: LockService;
  /** Where it listens, if it does. */
  readonly url: string;
}

export interface ReplicaOptions {
  /** A fresh one for each replica; Express by default. */
  adapter?: () => AbstractHttpAdapter;
  /** Called before the application starts. */
  prepare?: (app: INestApplication) => Promise<void>;
}

/**
 * Starts an application several times before the tests of a suite, and closes it after them. Each replica has connections,
 * queues and leases of its own, so between two of them nothing but Redis can keep them apart.
 */
export function useReplicas(module: Type, options: ReplicaOptions = {}): readonly [Replica, Replica] {
  const replicas: Replica[] = [];
  before(async () => {
    for (let i = 0; i < 2; i++) replicas.push(await startReplica(module, options));
  });
  after(() => Promise.all(replicas.map(({ app }) => app.close())));
  return replicas as unknown as readonly [Replica, Replica];
}

async function startReplica(module: Type, { adapter, prepare }: ReplicaOptions): Promise<Replica> {
  const testing = await Test.createTestingModule({ imports: [module] }).compile();
  const options = { logger: false, forceCloseConnections: true } as const;
  const app = adapter ? testing.createNestApplication(adapter(), options) : testing.createNestApplication(options);
  await prepare?.(app);
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as AddressInfo;
  const [accounts, locks] = [app.get(Accounts, { strict: false }), app.get(LockService, { strict: false })];
  return { app, accounts, locks, url: `http://127.0.0.1:${port}` };
}

/** Does something with a key that one of the replicas has. */
export async function whileHeld<T>(
  { locks }: Replica,
  key: string,
  task: (lock: LockHandle) => Promise<T>,
): Promise<T> {
  await using lock = await locks.acquire(key);
  return await task(lock);
}

/** So many calls, spread over all replicas, all at once. */
export const spread = <R, T>(replicas: readonly R[], times: number, call: (replica: R, i: number) => Promise<T>) =>
  Promise.all(Array.from({ length: times }, (_, i) => call(replicas[i % replicas.length]!, i)));

let accounts = 0;

/** An account that no other test knows. */
export const newAccount = (): string => `${process.pid}-${Date.now().toString(36)}-${++accounts}`;
