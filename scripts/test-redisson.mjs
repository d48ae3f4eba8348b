// The tests beside Redisson on a JVM, with both of its versions.
//
//   npm run test:redisson                     10 000 sections for each version
//   npm run test:redisson -- --short          a tenth of them
//   npm run test:redisson -- --if-present     the short form; without Java, Maven or the jars, one line in its place
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { tell } from './lib/counts.mjs';
import { runJest } from './lib/jest.mjs';
import { ROOT } from './lib/paths.mjs';
import { capture, run, runAsScript, runOrFail, StepFailed } from './lib/run.mjs';
import { checkNodeVersion, ensureNodeModules, ensureRedis } from './setup.mjs';

const VERSIONS = ['3.52.0', '4.7.0'];
const OLDEST_JAVA = 17;

async function test(args) {
  const ifPresent = args.includes('--if-present');
  const missing = (await missingTools()) ?? (ifPresent ? await missingJars() : undefined);
  if (missing !== undefined && ifPresent) {
    console.log(
      `Not run: ${missing}. The tests beside Redisson need Java ${OLDEST_JAVA} and Maven: npm run test:redisson.`,
    );
    return 0;
  }
  if (missing !== undefined) await installTools(missing);
  checkNodeVersion();
  await ensureNodeModules();
  const { installation } = await ensureRedis();
  for (const version of VERSIONS) await compile(version);
  const isShort = ifPresent || args.includes('--short');
  const given = args.filter((each) => each !== '--if-present' && each !== '--short');
  const env = isShort ? {} : { REDISSON_FULL: '1' };
  const { code, ...counts } = await runJest(['--config', 'jest.redisson.config.js', ...given], installation, env);
  return tell(counts) || code;
}

/** What is missing, as a sentence; `undefined`: nothing is. */
async function missingTools() {
  // The compiler, which a runtime alone does not have.
  const version = Number(/^javac (\d+)/m.exec((await capture('javac', ['-version'])) ?? '')?.[1] ?? 0);
  if (version < OLDEST_JAVA) return version === 0 ? 'there is no javac' : `Java is ${version}`;
  return (await capture('mvn', ['--version'])) === undefined ? 'there is no mvn' : undefined;
}

/** Whether Maven can fetch what the program needs, as a sentence; `undefined`: it can, or fails for another reason. */
async function missingJars() {
  for (const version of VERSIONS) {
    const { stdout = '' } = await promisify(execFile)('mvn', compilation(version)).catch((error) => error);
    if (/Could not (transfer|resolve|find) /.test(stdout)) return `Maven cannot fetch Redisson ${version}`;
  }
}

async function installTools(missing) {
  const canInstall = process.getuid?.() === 0 && (await capture('apt-get', ['--version'])) !== undefined;
  if (canInstall) {
    console.log(`Installing Java ${OLDEST_JAVA} and Maven with apt: ${missing}.`);
    await run('apt-get', ['update', '-qq']);
    await run('apt-get', [
      'install',
      '-y',
      '-qq',
      '--no-install-recommends',
      `openjdk-${OLDEST_JAVA}-jdk-headless`,
      'maven',
    ]);
    if ((await missingTools()) === undefined) return;
  }
  throw new StepFailed(
    `The tests beside Redisson need Java ${OLDEST_JAVA} or newer (a JDK) and Maven, and ${missing}. ` +
      'Install them, such as with `sudo apt-get install openjdk-17-jdk-headless maven`.',
  );
}

const compilation = (version) => {
  const pom = join(ROOT, 'test/redisson/java/pom.xml');
  return ['-q', '-B', '-f', pom, `-Dredisson.version=${version}`, 'process-classes'];
};

/** Maven fetches Redisson and compiles the program against it; the second time it finds both. */
function compile(version) {
  return runOrFail('mvn', compilation(version), { what: `Compiling the program with Redisson ${version}` });
}

await runAsScript(() => test(process.argv.slice(2)));
