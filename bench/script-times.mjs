// How long each script blocks Redis with very many holders and waiters. npm run bench:scripts -- [--holders 10000] [--waiters 10000] [--dead 1000]
import { parseArgs } from 'node:util';
import { ensureAll } from '../scripts/setup.mjs';
import { runAsScript } from '../scripts/lib/run.mjs';

const NUMBERS = { holders: 10_000, waiters: 10_000, dead: 1_000 };

async function scriptTimes() {
  const options = Object.fromEntries(Object.keys(NUMBERS).map((name) => [name, { type: 'string' }]));
  const { values } = parseArgs({ options });
  const sizes = Object.fromEntries(Object.entries(NUMBERS).map(([name, n]) => [name, Number(values[name] ?? n)]));
  const installation = await ensureAll();
  const [{ Redis }, { ScriptWalk }] = await Promise.all([
    import('ioredis'),
    import('../lab/testbed/locks/script-walk.mjs'),
  ]);
  const server = await installation.start();
  const redis = new Redis({ host: server.host, port: server.port });
  const times = new Map();
  try {
    await redis.config('SET', 'slowlog-log-slower-than', 0, 'slowlog-max-len', 16);
    const observe = async (label, call) => {
      await redis.slowlog('RESET');
      const reply = await call();
      const [, , micros] = (await redis.slowlog('GET', 16)).find(([, , , [command]]) => /^evalsha$/i.test(command));
      times.set(label, [...(times.get(label) ?? []), micros]);
      return reply;
    };
    await new ScriptWalk(redis, sizes, observe).run();
  } finally {
    redis.disconnect();
    await server.stop();
  }
  console.log(
    `${sizes.holders} holders, ${sizes.waiters} waiters behind ${sizes.dead} waiters whose clients are gone\n`,
  );
  console.log('| script | scripts | µs in Redis: shortest | median | longest |\n|---|--:|--:|--:|--:|');
  for (const [label, all] of times) {
    all.sort((a, b) => a - b);
    console.log(`| ${label} | ${all.length} | ${all[0]} | ${all[all.length >> 1]} | ${all.at(-1)} |`);
  }
}

await runAsScript(scriptTimes);
