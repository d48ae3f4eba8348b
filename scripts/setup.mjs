import { pathToFileURL } from 'node:url';
import { checkNodeVersion, ensureNodeModules } from './lib/node-modules.mjs';
import { ensureRedis as ensureInstallation } from './lib/redis-installation.mjs';
import { RedisProcess } from '../lab/testbed/servers/redis-process.mjs';
import { runAsScript } from './lib/run.mjs';

export { checkNodeVersion, ensureNodeModules };

/**
 * Sees to it that there is a Redis (or Valkey) to start. `launcher.start({ args, config, port })` starts one on
 * 127.0.0.1, on a free port, and resolves once it answers; it ends with `server.stop()`, or with this process.
 */
export async function ensureRedis() {
  const installation = await ensureInstallation();
  return {
    installation,
    async start(options) {
      const server = new RedisProcess(installation, options);
      await server.start();
      return server;
    },
  };
}

/**
 * Sees to it that everything is there that a run needs. Redis comes first: where it can't be installed, nothing else is
 * installed or built before the user reads what to do.
 */
export async function ensureAll() {
  checkNodeVersion();
  const redis = await ensureRedis();
  await ensureNodeModules();
  return redis;
}

// `node scripts/setup.mjs` installs everything; with --modules, the node modules only.
if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await runAsScript(async () => {
    if (!process.argv.includes('--modules')) return void (await ensureAll());
    checkNodeVersion();
    await ensureNodeModules();
  });
}
