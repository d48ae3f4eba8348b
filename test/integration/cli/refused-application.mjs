// An application whose Redis refuses it, with Nest's own logger: the test searches its output for the password.
import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { LockService, RedisLockModule } from '../../../dist/esm/index.js';

const [connection] = process.argv.slice(2);
const definition = RedisLockModule.forRoot({ connection: JSON.parse(connection), commandTimeout: 300 });
class Application {}
const module = { module: Application, imports: [definition] };
const app = await NestFactory.createApplicationContext(module, { abortOnError: false });
const locks = app.get(LockService);
console.log(definition, locks, app);
try {
  await locks.acquire('a');
} catch (error) {
  new Logger('Application').error('acquire failed', error);
  Logger.error(error);
  console.error('%O %o %j', error, error, error);
}
// This is not caught, so it ends the process.
void locks.acquire('b');
