import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from './paths.mjs';
import { capture, runOrFail, StepFailed } from './run.mjs';

export const VERSIONS = ['3.52.0', '4.7.0'];
export const OLDEST_JAVA = 17;

/** What is missing, as a sentence; `undefined`: nothing is. */
export async function missingTools() {
  // The compiler, which a runtime alone does not have.
  const version = Number(/^javac (\d+)/m.exec((await capture('javac', ['-version'])) ?? '')?.[1] ?? 0);
  if (version < OLDEST_JAVA) return version === 0 ? 'there is no javac' : `Java is ${version}`;
  return (await capture('mvn', ['--version'])) === undefined ? 'there is no mvn' : undefined;
}

/** Whether Maven can fetch what the program needs, as a sentence; `undefined`: it can, or fails for another reason. */
export async function missingJars() {
  for (const version of VERSIONS) {
    const { stdout = '' } = await promisify(execFile)('mvn', compilation(version)).catch((error) => error);
    if (/Could not (transfer|resolve|find) /.test(stdout)) return `Maven cannot fetch Redisson ${version}`;
  }
}

/** Maven fetches Redisson and compiles the program against it; the second time it finds both. */
export async function compileAll() {
  for (const version of VERSIONS) {
    await runOrFail('mvn', compilation(version), { what: `Compiling the program with Redisson ${version}` });
  }
}

/**
 * Compiles the program for a run that needs a JVM, once for a process.
 * @throws StepFailed without Java, Maven or the jars
 */
export const prepareRedisson = () => (prepared ??= prepare());

let prepared;

async function prepare() {
  const missing = (await missingTools()) ?? (await missingJars());
  if (missing === undefined) return compileAll();
  throw new StepFailed(
    `Not run: ${missing}. Clients of Redisson need Java ${OLDEST_JAVA} or newer (a JDK), and Maven with access to Maven Central.`,
  );
}

const compilation = (version) => {
  const pom = join(ROOT, 'test/redisson/java/pom.xml');
  return ['-q', '-B', '-f', pom, `-Dredisson.version=${version}`, 'process-classes'];
};
