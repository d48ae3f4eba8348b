/*
 * The surroundings that the examples of the documentation take for granted: the library, the names that they use of
 * other packages, and the application around them. `enterWorld` gives it locks on a real Redis, for the examples that
 * are run.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Module, type INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { Redis as Client, type RedisOptions } from 'ioredis';
import { DistributedLock, LockService, RedisLockModule } from 'nestjs-redis-locks';
import { LockTesting, type LockStoreHarness } from 'nestjs-redis-locks/testing';
import { memoryHarness } from '../contract/harnesses.js';

export * from 'nestjs-redis-locks';
export { createLockClient } from 'nestjs-redis-locks/client';
export * from 'nestjs-redis-locks/store';
export * from 'nestjs-redis-locks/dashboard';
export * from 'nestjs-redis-locks/redisson';
export * from '../../lib/observation/health/index.js';
export * from '../../lib/observation/metrics/index.js';
export * from 'nestjs-redis-locks/testing';
export { subscribe } from 'node:diagnostics_channel';
export { expect } from '@jest/globals';
export { HealthCheck, HealthCheckService } from '@nestjs/terminus';
export {
  Controller,
  Get,
  Injectable,
  Logger,
  Module,
  Param,
  Post,
  UseFilters,
  type OnModuleInit,
} from '@nestjs/common';
export { APP_FILTER, HttpAdapterHost } from '@nestjs/core';
export { Cron, Interval } from '@nestjs/schedule';
export { Test } from '@nestjs/testing';
export { sleep };

/** That of nestjs-cls, which Jest cannot load beside a Nest of ES modules. */
export class ClsService {
  get<T>(_name: string): T {
    return 'acme' as T;
  }
}

export interface Order {
  id: string;
  sku: string;
}
export interface User {
  id: string;
  name: string;
}
export interface Transaction {
  id: string;
}
export interface Price {
  sku: string;
}
export interface Mail {
  to: string;
}
export interface File {
  name: string;
}

@Injectable()
export class StockService {
  @DistributedLock({ key: 'stock:#{#sku}', waitTimeout: 0 })
  async reserve(sku: string, work?: () => Promise<void>): Promise<string> {
    await work?.();
    return sku;
  }
}

@Injectable()
export class PaymentService {}

@Module({ imports: [RedisLockModule.forRoot({ store: 'memory' })], providers: [StockService] })
export class AppModule {}

@Module({})
export class AuthModule {}

@Injectable()
export class AdminGuard {
  canActivate(): boolean {
    return true;
  }
}

export class ConfigModule {}
export class ConfigService {
  getOrThrow<T>(name: string): T {
    return name as T;
  }
}

export let app: INestApplication;
export let locks: LockService;
/** Locks in memory, as tests of users have them. */
export let testing: LockTesting;
export let stock: StockService;

/** Connects to no server: the servers of examples do not exist. */
export class Redis extends Client {
  constructor(options: RedisOptions) {
    super({ ...options, lazyConnect: true } as object); // any of the constructor's many overloads
  }
}

export const harness: LockStoreHarness = memoryHarness();
export const id = 'sunday';
export const files: readonly File[] = [{ name: 'a.csv' }];
export const cache = new Map<string, string>();
export const database = { query: async (_sql: string, _values: unknown[]) => ({ rowCount: 1 }) };

/** Of certificates. */
export const readFileSync = (path: string): Buffer => Buffer.from(path);

export const it = (_name: string, _run: () => Promise<void>): void => undefined;
export const book = async (_order: Order): Promise<void> => undefined;
export const charge = async (order: Order, _options?: { fencingToken: number }): Promise<string> => `paid ${order.id}`;
export const copy = async (_file: File, _options: { signal: AbortSignal | undefined }): Promise<void> => undefined;
export const publish = async (_id: string): Promise<void> => undefined;
export const sendNext = async (_options: { signal: AbortSignal }): Promise<void> => undefined;
export const sendTogether = async (_mails: readonly Mail[]): Promise<void> => undefined;
export const queue = { add: async (_name: string, _data: object): Promise<void> => undefined };
export const slowly = (): Promise<void> => sleep(50);
export const store = async (_prices: readonly Price[]): Promise<void> => undefined;
export const transaction = async <T>(task: () => Promise<T>): Promise<T> => task();
export const transfer = async (_signal: AbortSignal): Promise<void> => undefined;
export const work = async (): Promise<void> => undefined;

// Of other lock libraries.
export const redlock = {
  using: <T>(_keys: string[], _duration: number, routine: (signal: AbortSignal) => Promise<T>): Promise<T> =>
    routine(new AbortController().signal),
};
export const MurLock =
  (_releaseTime: number, ..._keyParams: string[]): MethodDecorator =>
  () =>
    undefined;

/** Puts locks on a Redis into the world, until the returned function is called. */
export async function enterWorld(connection: string): Promise<() => Promise<void>> {
  // The statements of examples about renewals must be visible within a second or two.
  const module = RedisLockModule.forRoot({ connection, renewedLease: '1s', shutdownTimeout: 0 });
  const compiled = await Test.createTestingModule({ imports: [module] })
    .setLogger(SILENT)
    .compile();
  app = await compiled.createNestApplication({ logger: false }).init();
  locks = app.get(LockService);
  testing = new LockTesting();
  stock = testing.withLocks(new StockService());
  return async () => {
    await testing[Symbol.asyncDispose]();
    await app.close();
  };
}

const SILENT = { log() {}, warn() {}, error() {}, debug() {}, verbose() {}, fatal() {} };
