import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import * as library from 'nestjs-redis-locks';
import { createLockClient, type LockClient } from 'nestjs-redis-locks/client';
import { RedisLockDashboardModule } from 'nestjs-redis-locks/dashboard';
import { LockTesting } from 'nestjs-redis-locks/testing';
import { compilerOptions, complaintsOf, ROOT } from './compile.js';

/** Pieces of code that a user may write by mistake, each above a part of the message that the user gets. */
const usagesIn = (name: string): ReadonlyArray<{ readonly code: string; readonly message: string }> =>
  [...readFileSync(join(import.meta.dirname, name), 'utf8').matchAll(/^(.*)\n {4}→ (.+)$/gm)].map(
    ([, code, message]) => ({ code: code!, message: message! }),
  );
/** What the compiler refuses. */
const COMPILE_TIME = usagesIn('compile-time.txt');
/** What compiles without types, or with `any`, and fails when it runs: when the class is defined, at start, or in the call. */
const RUN_TIME = usagesIn('run-time.txt');

/** What each piece of code may use. */
const HEAD = `import type { Observable } from 'rxjs';
import { DistributedLock, lockKey, LockService, LockTimeoutError, RedisLockModule, UseLock } from 'nestjs-redis-locks';
import { createLockClient } from 'nestjs-redis-locks/client';
declare const locks: LockService;
export type { Observable };
export { createLockClient, DistributedLock, lockKey, locks, LockTimeoutError, RedisLockModule, UseLock };
`;

/**
 * Compiles all pieces together, each as a file of its own, with the types of the built package. Returns what the compiler says
 * about each.
 */
function compile(pieces: readonly string[]): string[] {
  const files = new Map(pieces.map((code, i) => [join(import.meta.dirname, `piece-${i}.ts`), code]));
  // Without `paths`, the package finds itself by its name, as its users do.
  const unused = { noUnusedLocals: false, noUnusedParameters: false };
  const said = complaintsOf(files, compilerOptions({ paths: {}, incremental: false, ...unused }));
  return [...said.values()].map((complaints) => complaints.map(({ text }) => text).join('\n'));
}

it('there are at least 60 different ones', () => {
  for (const list of [COMPILE_TIME, RUN_TIME]) expect(new Set(list.map(({ code }) => code)).size).toBe(list.length);
  expect(new Set([...COMPILE_TIME, ...RUN_TIME].map(({ code }) => code)).size).toBeGreaterThanOrEqual(60);
});

describe('the compiler', () => {
  /** Right usages, each wrong one beside a comment that it is expected. */
  const RIGHT = ['distributed-lock', 'durations'].map((name) =>
    readFileSync(join(ROOT, `test/types/${name}.types.ts`), 'utf8'),
  );
  const METHOD = "class Stock { @DistributedLock('stock:#{#sku}') async reserve(sku: string) { return sku; } }";
  let right: string[];
  let said: string[];
  beforeAll(() => {
    const wrong = [METHOD, ...COMPILE_TIME.map(({ code }) => code)].map((code) => `${HEAD}${code}\n`);
    const all = compile([...RIGHT, ...wrong]);
    right = all.splice(0, RIGHT.length + 1);
    said = all;
  });

  it('accepts right usages', () => expect(right.filter((text) => text !== '')).toEqual([]));

  it.each(COMPILE_TIME.map(({ code, message }, i) => ({ code, message, i })))('refuses $code', ({ message, i }) => {
    expect(said[i]).toContain(message);
  });
});

describe('the library', () => {
  let locks: LockClient;
  beforeAll(async () => {
    const logger = { debug() {}, log() {}, warn() {}, error() {} };
    locks = await createLockClient({ store: 'memory', keyPrefix: 'wrong-usages', shutdownTimeout: 0 }, { logger });
  });
  afterAll(() => locks.close());

  it.each(RUN_TIME)('refuses $code', async ({ code, message }) => {
    const { outputText } = ts.transpileModule(code, {
      compilerOptions: { target: ts.ScriptTarget.ES2022, experimentalDecorators: true, emitDecoratorMetadata: true },
    });
    const names: Record<string, unknown> = {
      ...library,
      createLockClient,
      LockTesting,
      RedisLockDashboardModule,
      locks,
    };
    // The code is text, so that the list shows what a user writes.
    const run = new Function(...Object.keys(names), `return (async () => {\n${outputText}\n})();`) as (
      ...values: unknown[]
    ) => Promise<unknown>;
    const error = await run(...Object.values(names)).then(
      () => undefined,
      (thrown: Error & { code?: string }) => thrown,
    );
    expect(error?.code).toMatch(/^LOCK_/);
    expect(error?.message).toContain(message);
  });
});
