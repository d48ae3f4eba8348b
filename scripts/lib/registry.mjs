import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { npm } from './npm.mjs';
import { readManifest } from './repository.mjs';
import { capture, runQuietly, StepFailed } from './run.mjs';

/** Verdaccio asks for a tag of node-fetch that mirrors of the registry do not have. */
const PACKAGES = { dependencies: { verdaccio: '6.4.0' }, overrides: { 'node-fetch': '2.7.0' } };
const START_TIMEOUT = 60_000;

/** A registry on this machine, which has our package itself and gets all others from the registry of npm. */
export class Registry {
  #process;

  constructor(process, url) {
    this.#process = process;
    this.url = url;
  }

  /** Installs Verdaccio in `directory`, and resolves once it answers. */
  static async start(directory) {
    const home = join(directory, 'registry');
    mkdirSync(home);
    writeFileSync(join(home, 'package.json'), JSON.stringify({ private: true, ...PACKAGES }));
    const { command, args } = npm();
    const code = await runQuietly(command, [...args, 'install', '--prefix', home, '--ignore-scripts', '--no-audit']);
    if (code !== 0) throw new StepFailed('npm cannot install verdaccio');
    const upstream = (await capture(command, [...args, 'config', 'get', 'registry']))?.trim();
    const all = { access: '$all', publish: '$all' };
    const config = {
      storage: join(home, 'storage'),
      uplinks: { npm: { url: upstream } },
      packages: { [readManifest().name]: all, '**': { ...all, proxy: 'npm' } },
      log: { type: 'stdout', level: 'error' },
    };
    // Each JSON text is YAML, too.
    writeFileSync(join(home, 'config.yaml'), JSON.stringify(config));
    const url = `http://127.0.0.1:${await freePort()}/`;
    const verdaccio = join(home, 'node_modules/verdaccio/bin/verdaccio');
    const options = ['--config', join(home, 'config.yaml'), '--listen', url];
    const child = spawn(process.execPath, [verdaccio, ...options], { stdio: ['ignore', 'inherit', 'inherit'] });
    const registry = new Registry(child, url);
    for (const end = Date.now() + START_TIMEOUT; !(await isUp(url)); await sleep(100)) {
      if (child.exitCode === null && Date.now() < end) continue;
      await registry.stop();
      throw new StepFailed(`Verdaccio does not answer at ${url}`);
    }
    return registry;
  }

  /** Publishes as the workflow does, without the provenance, which only a run of that workflow can sign. */
  async publish(tarball) {
    const { command, args } = npm();
    // npm asks for a login, and the registry does not look at it.
    const login = `--${this.url.slice('http:'.length)}:_authToken=none`;
    const publish = ['publish', tarball, '--registry', this.url, login, '--access', 'public', '--ignore-scripts'];
    if ((await runQuietly(command, [...args, ...publish])) !== 0) throw new StepFailed('npm publish failed');
  }

  async stop() {
    if (this.#process.exitCode !== null) return;
    this.#process.kill();
    await once(this.#process, 'exit');
  }
}

const isUp = (url) =>
  fetch(`${url}-/ping`).then(
    ({ ok }) => ok,
    () => false,
  );

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}
