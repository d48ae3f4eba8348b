/*
 * What the examples of README.md, docs/migration.md, docs/observability.md and docs/operations.md take for granted: the library, what they use of other packages, and
 * the application around them. For the compiler only; nothing here is ever run.
 */
import type { INestApplication } from '@nestjs/common';
import type { LockService } from 'nestjs-redis-locks';

export * from 'nestjs-redis-locks';
export * from 'nestjs-redis-locks/health';
export * from 'nestjs-redis-locks/metrics';
export { subscribe } from 'node:diagnostics_channel';
export { readFileSync } from 'node:fs';
export { HealthCheck, HealthCheckService } from '@nestjs/terminus';
export { Controller, Get, Injectable, Logger, Module, Param, Post, type OnModuleInit } from '@nestjs/common';
export { APP_FILTER, HttpAdapterHost } from '@nestjs/core';
export { Cron } from '@nestjs/schedule';
export { Test } from '@nestjs/testing';
export { Redis } from 'ioredis';

export declare class ConfigModule {}
export declare class ConfigService {
  getOrThrow<T>(name: string): T;
}
export declare class AppModule {}
export declare class StockService {}

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

export declare const app: INestApplication;
export declare const locks: LockService;
export declare const files: readonly File[];
export declare const id: string;

export declare function book(order: Order): Promise<void>;
export declare function charge(order: Order, options: { fencingToken: number }): Promise<void>;
export declare function copy(file: File, options: { signal: AbortSignal | undefined }): Promise<void>;
export declare function publish(id: string): Promise<void>;
export declare function sendNext(options: { signal: AbortSignal }): Promise<void>;
export declare function sendTogether(mails: readonly Mail[]): Promise<void>;
export declare function store(prices: readonly Price[]): Promise<void>;
export declare function transfer(signal: AbortSignal): Promise<void>;
export declare function work(): Promise<void>;

// Of other lock libraries.
export declare const redlock: {
  using<T>(keys: string[], duration: number, routine: (signal: AbortSignal) => Promise<T>): Promise<T>;
};
export declare function MurLock(releaseTime: number, ...keyParams: string[]): MethodDecorator;
