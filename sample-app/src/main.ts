import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { AppConfig } from './config/app-config.js';

const app = await NestFactory.create(AppModule);
// Locks are released on SIGTERM instead of ending with their lease.
app.enableShutdownHooks();

const { host, port } = app.get(AppConfig);
await app.listen(port, host);
new Logger('Shop').log(`Listening on ${await app.getUrl()}`);
