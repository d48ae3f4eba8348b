import { pathToFileURL } from 'node:url';
import { checkNodeVersion, ensureNodeModules } from './lib/node-modules.mjs';
import { ensureRedis as ensureInstallation } from './lib/redis-installation.mjs';
import { RedisProcess } from '../testbed/servers/redis-process.mjs';
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
      try {
        await server.start();
      } catch (error) {
        await server.stop();
        throw error;
      }
      return server;
    },
  };
}

// `node scripts/setup.mjs` installs everything; with --modules, the node modules only.
if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await runAsScript(async () => {
    checkNodeVersion();
    await ensureNodeModules();
    if (!process.argv.includes('--modules')) await ensureRedis();
  });
}
