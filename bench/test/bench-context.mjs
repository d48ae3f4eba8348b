import { after, before } from 'node:test';
import { ensureRedis } from '../../scripts/setup.mjs';
import { ServerView } from '../harness/server.mjs';
import { Threads } from '../harness/threads.mjs';

/** What a scenario measures with, for the tests of a file: threads, and a Redis of their own. */
export function benchContext() {
  const context = {};
  let server;
  before(async () => {
    server = await (await ensureRedis()).start();
    const target = { host: server.host, port: server.port };
    Object.assign(context, { threads: new Threads(), server: new ServerView(target), target });
  });
  after(async () => {
    await context.threads.end();
    context.server.close();
    await server.stop();
  });
  return context;
}
