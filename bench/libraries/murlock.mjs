import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import murlock from 'murlock';

const { MurLockModule, MurLockService } = murlock;
const LEASE = 30_000;

export default {
  title: 'murlock',
  module: 'murlock',
  waits: true,
  variants: {
    defaults: {
      about: 'has no defaults, so those of its README: `wait: 1000` (then 2000, 3000), `maxAttempts: 3`',
      settings: { wait: 1000, maxAttempts: 3 },
    },
    tuned: {
      about: '`blocking: true`, `wait: 10`',
      settings: { blocking: true, wait: 10, maxAttempts: 3 },
      only: 'waiting',
    },
    once: { hidden: true, settings: { wait: 1, maxAttempts: 1 } },
  },

  async open({ connection, settings }) {
    const options = { redisOptions: { url: connection.url }, logLevel: 'error', ...settings };
    const root = { module: class Root {}, imports: [MurLockModule.forRoot(options)] };
    const app = await NestFactory.createApplicationContext(root, { logger: false });
    const service = app.get(MurLockService);
    count(service.redisClient, connection);
    return {
      // Its public way in is `runWithLock`; the task lasts until the handle is released.
      acquire: (key) =>
        new Promise((resolve, reject) => {
          const ended = service.runWithLock(
            key,
            LEASE,
            () => new Promise((release) => resolve({ release, ended: () => ended })),
          );
          ended.catch((error) => (/after \d+ attempts/.test(error.message) ? resolve(undefined) : reject(error)));
        }),
      release(handle) {
        handle.release();
        return handle.ended();
      },
      close: () => app.close(),
    };
  },
};

/** It speaks through node-redis. */
function count(client, connection) {
  const send = client.sendCommand;
  client.sendCommand = function (...args) {
    connection.counted(1);
    return send.apply(this, args);
  };
}
