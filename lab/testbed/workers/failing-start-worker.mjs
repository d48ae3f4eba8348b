// A Nest application that uses a lock while it starts, on the connection at argv[2] (JSON), and then fails to start: in
// a factory or in a hook (argv[3]). Nest closes nothing, so only the connections could keep the process alive.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { LockService, RedisLockModule } from '../../../dist/esm/index.js';
import { tell } from './worker-kit.mjs';

const [connection, when] = process.argv.slice(2);
const fail = async (/** @type {LockService} */ locks) => {
  await locks.acquire('a').catch(() => undefined);
  throw new Error('the database is not there');
};
const useFactory = (/** @type {LockService} */ locks) =>
  when === 'factory' ? fail(locks) : { onModuleInit: () => fail(locks) };

class App {}
Module({
  imports: [RedisLockModule.forRoot({ connection: JSON.parse(connection ?? ''), commandTimeout: 300 })],
  providers: [{ provide: 'failing', inject: [LockService], useFactory }],
})(App);

await NestFactory.createApplicationContext(App, { abortOnError: false, logger: false }).catch((error) =>
  tell('failed', { message: error.message }),
);
