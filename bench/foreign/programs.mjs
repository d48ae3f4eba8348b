// The programs that measure libraries of other languages: how to build and to start them.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { capture } from '../../scripts/lib/run.mjs';

const GO = fileURLToPath(new URL('go/', import.meta.url));
const JAVA = fileURLToPath(new URL('java/', import.meta.url));
const OLDEST_JAVA = 17;
/** Up to sixteen of them share the machine; more would only be unused memory. */
const JVM = ['-Xmx256m'];

/**
 * Each program: the `world` of its libraries, `tools()`: its version, or a sentence that says what is missing; `build`,
 * and the command that starts it; `versionOf(library)`, as its list of dependencies has it.
 */
export const PROGRAMS = {
  java: {
    world: 'JVM',
    name: 'Java',
    async tools() {
      // The compiler, which a runtime alone does not have.
      const version = /^javac ([\d.]+)/m.exec((await capture('javac', ['-version'])) ?? '')?.[1];
      if (version === undefined) return { missing: 'There is no javac' };
      if (parseInt(version) < OLDEST_JAVA) return { missing: `Java is ${version}; it needs ${OLDEST_JAVA} and Maven` };
      const maven = await capture('mvn', ['--version']);
      return maven === undefined ? { missing: 'There is no mvn' } : { version };
    },
    build: ['mvn', ['-q', '-B', '-f', `${JAVA}pom.xml`, 'process-classes']],
    start: ['java', [...JVM, '-cp', `${JAVA}target/classes:${JAVA}target/lib/*`, 'Runner']],
    versionOf: () => /<redisson.version>([^<]+)</.exec(readFileSync(`${JAVA}pom.xml`, 'utf8'))?.[1],
  },
  go: {
    world: 'Go',
    name: 'Go',
    async tools() {
      const version = /go([\d.]+)/.exec((await capture('go', ['version'])) ?? '')?.[1];
      return version === undefined ? { missing: 'There is no go' } : { version };
    },
    build: ['go', ['build', '-C', GO, '-o', 'build/runner', '.']],
    start: [`${GO}build/runner`, []],
    versionOf: (module) =>
      readFileSync(`${GO}go.mod`, 'utf8')
        .split('\n')
        .map((line) => line.trim().split(' '))
        .find(([name]) => name === module)?.[1]
        ?.slice(1),
  },
};

const built = new Map();

/** Builds a program once. Resolves to its `{ version }`, or to `{ missing }`, a sentence. */
export function prepare(program) {
  if (!built.has(program)) built.set(program, build(PROGRAMS[program]));
  return built.get(program);
}

async function build({ name, tools, build: [command, args] }) {
  // The runners map a file that Node writes, and read the clock that Node reads.
  if (process.platform !== 'linux') return { missing: 'Other languages are measured on Linux only' };
  const found = await tools();
  if (found.missing !== undefined) return found;
  try {
    await promisify(execFile)(command, args);
    return found;
  } catch ({ stdout, stderr, message }) {
    const lines = `${stdout}\n${stderr}`.split('\n').filter((line) => !/^(go: downloading .*|\s*)$/.test(line));
    return { missing: `The ${name} program cannot be built: ${lines[0]?.trim() ?? message}` };
  }
}
