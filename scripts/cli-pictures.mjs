import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { pictureOf } from './lib/ansi-picture.mjs';
import { ROOT } from './lib/paths.mjs';
import { runAsScript } from './lib/run.mjs';
import { ensureRedis } from './setup.mjs';

const PROGRAM = join(ROOT, 'dist/esm/cli/main.js');
const IMAGES = join(ROOT, 'docs/images');

/**
 * The pictures in the docs of the program: its output on a Redis where locks are held, as it looks on a terminal. After
 * a build.
 */
async function cliPictures() {
  const { createLockService } = await import(pathToFileURL(join(ROOT, 'dist/esm/module/redis-lock.composition.js')));
  const { resolveModuleOptions } = await import(pathToFileURL(join(ROOT, 'dist/esm/module/redis-lock.options.js')));
  const redis = await (await ensureRedis()).start();
  const silent = { debug() {}, log() {}, warn() {}, error() {} };
  const services = ['web-1', 'job-1'].map((label) =>
    createLockService(resolveModuleOptions({ connection: redis.url, shutdownTimeout: 0, label }), silent),
  );
  try {
    await Promise.all(services.map((service) => service.start()));
    await holdSome(services);
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    mkdirSync(IMAGES, { recursive: true });
    for (const command of ['ls', 'doctor']) {
      const picture = pictureOf(`npx nestjs-redis-locks ${command}`, await outputOf(command, redis.url));
      writeFileSync(join(IMAGES, `cli-${command}.svg`), picture);
    }
  } finally {
    await Promise.all(services.map((service) => service.close()));
    await redis.stop();
  }
}

async function holdSome([one, other]) {
  await one.acquire('import:products.csv', { owner: 'importer' });
  await other.acquire('mail-server', { permits: 5 });
  await one.acquire('nightly-report', { expire: '10m' });
  await one.acquire('prices', { kind: 'read' });
  await other.acquire('prices', { kind: 'read' });
  await other.acquire('stock:42', { owner: 'checkout-7' });
  one.acquire('stock:42', { waitTimeout: '1m' }).catch(() => undefined);
}

/** `doctor` exits with 3 if it finds a problem, but it has written its output. */
async function outputOf(command, url) {
  const env = { PATH: process.env.PATH, REDIS_URL: url, FORCE_COLOR: '1' };
  const run = promisify(execFile)(process.execPath, [PROGRAM, command], { env });
  const { stdout } = await run.catch((error) => error);
  return stdout;
}

await runAsScript(cliPictures);
