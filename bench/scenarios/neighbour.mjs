import { setTimeout as sleep } from 'node:timers/promises';
import { client } from '../harness/own-client.mjs';
import { Histogram, median } from '../harness/statistics.mjs';

/** Clients whose holders come and go; another client acquires and releases the unrelated key. */
const CLIENTS = 4;
const PER_SECOND = 1_000;
const TICK = 4;
/** After this time the number of holders is steady, in ms. */
const FILLING = (sectionMs) => sectionMs + 300;

const KINDS = {
  readers: { kind: 'read' },
  permits: { permits: 20_000 },
};
const SECTIONS_MS = [100, 1_000];

/** The second set of separate keys shows how much two equal loads differ. */
const LOADS = ['one', 'separate', 'again'];

const SIZES = {
  full: { turns: 5, windowMs: 1_200, sections: SECTIONS_MS },
  quick: { turns: 1, windowMs: 300, sections: SECTIONS_MS.slice(0, 1) },
};

const MODULE = import.meta.url;

export default {
  name: 'neighbour',
  title: 'The neighbour of a busy key',
  about:
    `${PER_SECOND} readers a second, or as many callers with one permit each, come to one key and go after their section, ` +
    `from ${CLIENTS} clients. Meanwhile another client acquires and releases an unrelated key. The same with one key for ` +
    'each reader that holds. The two take turns of 1.2 s, together with a second turn of separate keys: the second ' +
    'ratio is that of the two turns with separate keys, so it shows the noise.',
  columns: [
    { key: 'ratio', title: 'p99: one key ÷ separate keys', digits: 2 },
    { key: 'noise', title: 'p99: separate keys ÷ separate keys', digits: 2 },
    { key: 'ratioP50', title: 'p50: one key ÷ separate keys', digits: 2 },
    { key: 'noiseP50', title: 'p50: separate keys ÷ separate keys', digits: 2 },
    { key: 'oneP99', title: 'one key: p99 ms', digits: 2 },
    { key: 'separateP99', title: 'separate keys: p99 ms', digits: 2 },
    { key: 'oneP50', title: 'one key: p50 ms', digits: 2 },
    { key: 'separateP50', title: 'separate keys: p50 ms', digits: 2 },
    { key: 'came', title: 'one key: came per second', digits: 0 },
    { key: 'held', title: 'one key: held at a time', digits: 0 },
    { key: 'oneCore', title: 'one key: Redis, % of a core', digits: 0 },
    { key: 'separateCore', title: 'separate keys: Redis, % of a core', digits: 0 },
  ],
  charts: [],
  includes: ({ library, variant }) => library === 'ours' && variant === 'defaults',

  expand(variants, { isQuick }) {
    const { sections } = SIZES[isQuick ? 'quick' : 'full'];
    return variants.flatMap((variant) =>
      Object.keys(KINDS).flatMap((kind) =>
        sections.map((sectionMs) => ({
          ...variant,
          label: `about ${(PER_SECOND * sectionMs) / 1_000} ${kind} at a time`,
          ...{ kind, sectionMs },
        })),
      ),
    );
  },

  async measure({ threads, server, target }, { kind, sectionMs }, { isQuick }) {
    const { turns, windowMs } = SIZES[isQuick ? 'quick' : 'full'];
    await server.clear();
    const [neighbour, ...crowd] = await threads.take(1 + CLIENTS, 'ours');
    const all = [neighbour, ...crowd];
    const everywhere = (name) => Promise.all(all.map((thread) => thread.call('work', MODULE, name, { target })));
    const records = Object.fromEntries(LOADS.map((load) => [load, []]));
    await everywhere('open');
    try {
      for (let turn = 0; turn < turns * LOADS.length; turn++) {
        // Each row of turns begins with another load.
        const load = LOADS[(turn + Math.floor(turn / LOADS.length)) % LOADS.length];
        const terms = { kind, load, sectionMs, windowMs };
        const comeAndGo = crowd.map((thread, client) => thread.call('work', MODULE, 'comeAndGo', { ...terms, client }));
        await sleep(FILLING(sectionMs));
        const before = await server.usage();
        const cycles = await neighbour.call('work', MODULE, 'cycle', { windowMs });
        const core = ((await server.usage()).cpu - before.cpu) / (windowMs / 1_000);
        records[load].push({ cycles, core: core * 100, crowd: await Promise.all(comeAndGo) });
      }
    } finally {
      await everywhere('close');
    }
    return {
      ...metrics(Object.fromEntries(LOADS.map((load) => [load, summarize(records[load], windowMs)]))),
      ratio: ratioOf(records.one, records.separate, 0.99),
      noise: ratioOf(records.again, records.separate, 0.99),
      ratioP50: ratioOf(records.one, records.separate, 0.5),
      noiseP50: ratioOf(records.again, records.separate, 0.5),
    };
  },

  notes: () => [
    'A ratio is the median over neighbouring turns, because the load of the machine changes from second to second. The ' +
      'times are those of all cycles of a round.',
  ],
};

const ratioOf = (some, others, q) => median(some.map(({ cycles }, i) => at(cycles, q) / at(others[i].cycles, q)));

const at = (cycles, q) => Histogram.merged([cycles]).quantile(q);

function summarize(turns, windowMs) {
  const cycles = Histogram.merged(turns.map((turn) => turn.cycles));
  const total = (key) => turns.flatMap(({ crowd }) => crowd).reduce((sum, each) => sum + each[key], 0);
  return {
    p50: cycles.quantile(0.5),
    p99: cycles.quantile(0.99),
    core: median(turns.map(({ core }) => core)),
    came: (total('came') / turns.length / windowMs) * 1_000,
    held: total('held') / turns.length,
  };
}

const metrics = ({ one, separate }) => ({
  ...{ oneP99: one.p99, separateP99: separate.p99, oneP50: one.p50, separateP50: separate.p50 },
  ...{ came: one.came, held: one.held, oneCore: one.core, separateCore: separate.core },
});

// In a thread.

export { close, open } from '../harness/own-client.mjs';

/** Starts holders at a steady rate, whether or not the earlier ones have got their hold. */
export async function comeAndGo({ kind, load, client: id, sectionMs, windowMs }) {
  const began = performance.now();
  const [from, end] = [began + FILLING(sectionMs), began + FILLING(sectionMs) + windowMs];
  const rate = PER_SECOND / CLIENTS / 1_000;
  // Twice as many as hold at a time, so that each has had its holder released before the next one comes.
  const keys = Math.ceil(2 * rate * sectionMs);
  const active = new Set();
  let [started, came, holding] = [0, 0, 0];
  const samples = [];

  const holder = async (i) => {
    const key = load === 'one' ? 'crowd' : `crowd:${load}:${id}:${i % keys}`;
    const handle = await client.locks.acquire(key, KINDS[kind]);
    const now = performance.now();
    if (now >= from && now < end) came++;
    holding++;
    await sleep(sectionMs);
    holding--;
    await client.release(handle);
  };

  while (performance.now() < end) {
    const due = Math.floor((performance.now() - began) * rate);
    for (; started < due; started++) {
      const held = holder(started).finally(() => active.delete(held));
      active.add(held);
    }
    if (performance.now() >= from) samples.push(holding);
    await sleep(TICK);
  }
  await Promise.all(active);
  return { came, held: samples.reduce((sum, n) => sum + n, 0) / samples.length };
}

/** One cycle after the other, each 1 ms after the last. */
export async function cycle({ windowMs }) {
  const cycles = new Histogram();
  const end = performance.now() + windowMs;
  while (performance.now() < end) {
    const began = performance.now();
    await client.release(await client.acquire('neighbour'));
    cycles.add(performance.now() - began);
    await sleep(1);
  }
  return cycles;
}
