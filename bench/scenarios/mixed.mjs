import { contentionMetrics } from '../harness/contention.mjs';
import { measureSides } from '../harness/measurement.mjs';

const LOCKS = {
  RLock: {
    node: { library: 'ours-redisson', variant: 'defaults' },
    java: { library: 'redisson-lock', variant: 'defaults' },
  },
  RFairLock: {
    node: { library: 'ours-redisson', variant: 'fair' },
    java: { library: 'redisson-fair-lock', variant: 'defaults' },
  },
};
const SECTIONS_MS = [0, 5];
const SIDES = { node: 'Node', java: 'Redisson' };
/** Of each side; a side alone has as many as both together. */
const PROCESSES = { full: 4, quick: 2 };
/** Windows are so much longer than in other scenarios: waiters of this library try again every 3 to 4 s. */
const LONGER = 2;

const columnsOf = (side) => [
  { key: `${side}Sections`, title: `${SIDES[side]}: sections/s`, digits: 0 },
  { key: `${side}Share`, title: '% of all', digits: 1 },
  { key: `${side}P50`, title: 'wait p50 ms', digits: 2 },
  { key: `${side}P99`, title: 'wait p99 ms', digits: 1 },
  { key: `${side}Longest`, title: 'longest wait ms', digits: 0 },
];

export default {
  name: 'mixed',
  title: 'One hot key, Node and Redisson together',
  about:
    'Processes of this library, with `protocol: redisson()`, and JVMs with Redisson want the same key all the time, with ' +
    'one caller each. Beside it, as many processes of one side only. Waits and shares are those of each side; Jain is ' +
    'that of all callers.',
  columns: [
    { key: 'all', title: 'sections/s', digits: 0 },
    ...Object.keys(SIDES).flatMap(columnsOf),
    { key: 'jain', title: 'Jain', digits: 3 },
    { key: 'commands', title: 'commands per section', digits: 2 },
    { key: 'serverCpu', title: 'Redis CPU µs per section', digits: 0 },
    { key: 'violations', title: 'violations', digits: 0 },
  ],
  charts: [],
  includes: () => true,

  expand(_variants, { isQuick }) {
    const processes = PROCESSES[isQuick ? 'quick' : 'full'];
    return Object.entries(LOCKS).flatMap(([lock, libraries]) =>
      SECTIONS_MS.flatMap((sectionMs) =>
        crews(libraries, processes).map(({ crew, sides }) => {
          const [{ library, variant }] = Object.values(sides);
          return { library, variant, label: `${lock}, ${sectionMs} ms, ${crew}`, sides, sectionMs };
        }),
      ),
    );
  },

  async measure(context, { sides, sectionMs }, { window, ...timing }) {
    const measured = await measureSides(context, {
      sides: Object.values(sides),
      isMapped: true,
      loop: 'contend',
      terms: { key: 'hot', waiters: 1, sectionMs },
      timing: { ...timing, window: LONGER * window },
    });
    const of = (parts) => contentionMetrics({ ...measured, parts });
    const { throughput, jain, commands, serverCpu, violations, waits } = of(measured.sides.flat());
    const each = Object.keys(sides).map((side, i) => sideMetrics(side, of(measured.sides[i]), throughput));
    return { all: throughput, ...Object.assign({}, ...each), jain, commands, serverCpu, violations, waits };
  },
};

const crews = ({ node, java }, processes) => [
  {
    crew: `${processes} Node + ${processes} Redisson`,
    sides: { node: { ...node, processes }, java: { ...java, processes } },
  },
  { crew: `${2 * processes} Node`, sides: { node: { ...node, processes: 2 * processes } } },
  { crew: `${2 * processes} Redisson`, sides: { java: { ...java, processes: 2 * processes } } },
];

const sideMetrics = (side, { throughput, p50, p99, longest }, all) => ({
  [`${side}Sections`]: throughput,
  [`${side}Share`]: (100 * throughput) / all,
  [`${side}P50`]: p50,
  [`${side}P99`]: p99,
  [`${side}Longest`]: longest,
});
