// The tests beside Redisson on a JVM, with both of its versions.
//
//   npm run test:redisson                     10 000 sections for each version
//   npm run test:redisson -- --short          a tenth of them
//   npm run test:redisson -- --if-present     the short form; without Java, Maven or the jars, one line in its place
import { build } from './build.mjs';
import { tell } from './lib/counts.mjs';
import { runJest } from './lib/jest.mjs';
import { compileAll, missingJars, missingTools, OLDEST_JAVA } from './lib/redisson-jars.mjs';
import { capture, run, runAsScript, StepFailed } from './lib/run.mjs';
import { checkNodeVersion, ensureNodeModules, ensureRedis } from './setup.mjs';

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
  await compileAll();
  // The clients of the chaos run are processes of their own, on the built library.
  await build();
  const isShort = ifPresent || args.includes('--short');
  const given = args.filter((each) => each !== '--if-present' && each !== '--short');
  const env = isShort ? {} : { REDISSON_FULL: '1' };
  const { code, ...counts } = await runJest(['--config', 'jest.redisson.config.js', ...given], installation, env);
  return tell(counts) || code;
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

await runAsScript(() => test(process.argv.slice(2)));
