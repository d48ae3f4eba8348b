// The way of a decorated call whose key is free: each function of lib that runs from the call to its EVALSHA, in order, and its
// file. `--files` prints the files only. V8's inspector tells which functions a warm call runs; a breakpoint in each of them,
// whose condition is false, tells their order.
import 'reflect-metadata';
import { Session } from 'node:inspector/promises';
import { register } from 'node:module';
import { Socket } from 'node:net';
import { NestFactory } from '@nestjs/core';
import { Module } from '@nestjs/common';
import { startRedis } from '../lab/testbed/servers/redis-server.mjs';

const WARM = 200;
const LIB = new URL('../lib/', import.meta.url).href;

register('../lab/simulation/typescript/hooks.mjs', import.meta.url, { data: {} });
const { DistributedLock, RedisLockModule } = await import('../lib/index.ts');

class Stock {
  async reserve(sku) {
    return sku;
  }
}
const descriptor = Object.getOwnPropertyDescriptor(Stock.prototype, 'reserve');
DistributedLock('stock:#{#sku}')(Stock.prototype, 'reserve', descriptor);
Object.defineProperty(Stock.prototype, 'reserve', descriptor);
class App {}
const redis = await startRedis();
Module({ imports: [RedisLockModule.forRoot({ connection: redis.url })], providers: [Stock] })(App);
const app = await NestFactory.createApplicationContext(App, { logger: false });
const stock = app.get(Stock);
for (let i = 0; i < WARM; i++) await stock.reserve(`warm-${i}`);

const session = new Session();
session.connect();
const scripts = new Map();
session.on('Debugger.scriptParsed', ({ params }) => scripts.set(params.scriptId, params.url));
await session.post('Debugger.enable');
await session.post('Profiler.enable');

/** What runs from the call to the moment when its script is written to the socket, with `until` called there. */
async function call(sku, until) {
  const { write } = Socket.prototype;
  let isOver = false;
  Socket.prototype.write = function (chunk, ...rest) {
    if (!isOver && /evalsha/i.test(String(chunk))) {
      isOver = true;
      until();
    }
    return write.call(this, chunk, ...rest);
  };
  await stock.reserve(sku);
  Socket.prototype.write = write;
}

await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
await session.post('Profiler.takePreciseCoverage');
let covered;
await call('covered', () => (covered = session.post('Profiler.takePreciseCoverage')));
const { result } = await covered;
await session.post('Profiler.stopPreciseCoverage');

globalThis.pathOfACall = [];
for (const { scriptId, url, functions } of result) {
  if (!url.startsWith(LIB)) continue;
  const { scriptSource } = await session.post('Debugger.getScriptSource', { scriptId });
  for (const { functionName, ranges } of functions) {
    const [{ startOffset, count }] = ranges;
    if (count === 0 || startOffset === 0) continue;
    const before = scriptSource.slice(0, startOffset).split('\n');
    // Closures and the fields of classes have no name, and count.
    const shown = /^(?:get )?\w+$/.test(functionName) ? functionName.replace('get ', '') : '';
    const name = JSON.stringify(`${shown}\t${url.slice(LIB.length)}`);
    const location = { scriptId, lineNumber: before.length - 1, columnNumber: before.at(-1).length };
    const end = { ...location, lineNumber: location.lineNumber + 40 };
    const { locations } = await session.post('Debugger.getPossibleBreakpoints', {
      ...{ start: location, end, restrictToFunction: true },
    });
    if (locations.length === 0) continue;
    const condition = `globalThis.pathOfACall.push(${name}), false`;
    await session.post('Debugger.setBreakpoint', { location: locations[0], condition }).catch(() => undefined);
  }
}
let path = [];
await call('ordered', () => (path = [...new Set(globalThis.pathOfACall)]));
session.disconnect();
await app.close();
await redis.stop();

/** What runs one after the other in a file. */
const stretches = [];
for (const step of path) {
  const [name, file] = step.split('\t');
  const last = stretches.at(-1);
  if (last?.file === file) last.names.add(name);
  else stretches.push({ file, names: new Set([name]) });
}
const files = new Set(stretches.map(({ file }) => file));
if (process.argv.includes('--files')) console.log([...files].sort().join('\n'));
else {
  for (const { file, names } of stretches)
    console.log(`${file.padEnd(44)} ${[...names].filter(Boolean).join(', ')}`.trim());
  console.log(`${path.length} functions in ${files.size} files`);
}
process.exit(0);
