import { chmodSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { isExecutable } from './executable.mjs';
import { capture, run, runQuietly, StepFailed } from './run.mjs';

/**
 * This variable tells the children of `npm test` which Redis to start. A caller of `npm test` may write the path of a
 * redis-server or valkey-server there, to test on that one.
 */
export const REDIS_VARIABLE = 'LOCKS_TEST_REDIS';

const MINIMUM = [6, 2];
const IMAGE = 'redis:7.2-alpine';
const SERVERS = ['redis-server', 'valkey-server'];
const POLICY = '/usr/sbin/policy-rc.d';
const INTERRUPTIONS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * The Redis that a parent process has found, or else the first one on the PATH that is new enough.
 * @returns {Promise<import('../../lab/testbed/servers/redis-process.mjs').RedisInstallation | undefined>}
 */
export async function findRedis() {
  return (await findTold()) ?? (await findOnPath()).usable;
}

/**
 * Finds a Redis or Valkey server, installs one if that is possible without asking, or prints instructions.
 * @returns {Promise<import('../../lab/testbed/servers/redis-process.mjs').RedisInstallation>}
 */
export async function ensureRedis() {
  const told = await findTold();
  if (told) return told;
  const found = await findOnPath();
  if (found.usable) return found.usable;
  for (const install of [installWithApt, installWithBrew]) {
    if (!(await install())) continue;
    const { usable } = await findOnPath();
    if (usable) return usable;
  }
  return (await findDocker()) ?? giveUp(found.tooOld);
}

async function findTold() {
  const told = process.env[REDIS_VARIABLE];
  if (!told) return undefined;
  if (told.startsWith('{')) return JSON.parse(told);
  const command = resolve(told);
  const version = await versionOf(command);
  if (version === undefined)
    throw new StepFailed(`${REDIS_VARIABLE}=${told} is no Redis or Valkey server that starts.`);
  if (!isNewEnough(version)) giveUp({ command, version });
  return { kind: 'binary', command, version };
}

async function findOnPath() {
  let tooOld;
  for (const command of SERVERS.map(whereIs)) {
    if (command === undefined) continue;
    const version = await versionOf(command);
    if (version === undefined) continue;
    const installation = { kind: 'binary', command, version };
    if (isNewEnough(version)) return { usable: installation };
    tooOld ??= installation;
  }
  return { tooOld };
}

async function versionOf(command) {
  return /\bv=(\d+\.\d+\.\d+)/.exec((await capture(command, ['--version'])) ?? '')?.[1];
}

function isNewEnough(version) {
  const [major, minor] = version.split('.').map(Number);
  return major > MINIMUM[0] || (major === MINIMUM[0] && minor >= MINIMUM[1]);
}

function whereIs(program) {
  const directories = (process.env.PATH ?? '').split(delimiter).filter((directory) => directory !== '');
  return directories.map((directory) => join(directory, program)).find(isExecutable);
}

async function installWithApt() {
  if (process.getuid?.() !== 0 || !whereIs('apt-get')) return false;
  console.log('No Redis here: installing redis-server with apt-get (about a minute)');
  return withoutStartingServices(async () => {
    const options = { env: { DEBIAN_FRONTEND: 'noninteractive' } };
    await runQuietly('apt-get', ['update', '-qq'], options);
    for (const server of SERVERS) {
      const code = await runQuietly('apt-get', ['install', '-y', '-qq', '--no-install-recommends', server], options);
      if (code === 0 && (await findOnPath()).usable) return true;
    }
    return false;
  });
}

/** The package would start a server on port 6379, which is not ours to occupy. */
async function withoutStartingServices(install) {
  if (existsSync(POLICY)) return install();
  writeFileSync(POLICY, '#!/bin/sh\nexit 101\n');
  chmodSync(POLICY, 0o755);
  // An interruption ends apt-get; we stay to take the file away.
  const stay = () => {};
  for (const signal of INTERRUPTIONS) process.on(signal, stay);
  try {
    return await install();
  } finally {
    rmSync(POLICY, { force: true });
    for (const signal of INTERRUPTIONS) process.off(signal, stay);
  }
}

async function installWithBrew() {
  if (!whereIs('brew')) return false;
  console.log('No Redis here: installing it with brew');
  return (await run('brew', ['install', 'redis'], { stdio: ['ignore', 'inherit', 'inherit'] })) === 0;
}

async function findDocker() {
  const command = whereIs('docker');
  if (!command || (await capture(command, ['info'])) === undefined) return undefined;
  console.log(`No Redis here: starting servers with docker (${IMAGE})`);
  const hasImage = (await capture(command, ['image', 'inspect', IMAGE])) !== undefined;
  if (!hasImage && (await run(command, ['pull', '--quiet', IMAGE])) !== 0) return undefined;
  return { kind: 'docker', command, image: IMAGE, version: /:([\d.]+)/.exec(IMAGE)[1] };
}

function giveUp(tooOld) {
  const minimum = MINIMUM.join('.');
  const problem = tooOld
    ? `${tooOld.command} is version ${tooOld.version}, but ${minimum} or newer is needed.`
    : 'There is no redis-server and no valkey-server on the PATH.';
  if (!tooOld && whereIs('apt-get') && process.getuid?.() !== 0) {
    throw new StepFailed(`${problem}
Only root may install it. Run this, and then the same command again:
  sudo apt-get install redis-server
or start Docker: the servers run in containers then.`);
  }
  throw new StepFailed(`${problem}
Install Redis ${minimum} or newer, or any Valkey, and run this again:
  Debian, Ubuntu   sudo apt-get install redis-server
  Fedora           sudo dnf install valkey
  Alpine           apk add redis
  macOS            brew install redis
or start Docker: the servers run in containers then.`);
}
