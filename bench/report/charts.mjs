import { curves } from './curves.mjs';
import { circle, line, rect, svg, text } from './svg.mjs';
import { format } from './format.mjs';

const WIDTH = 900;
const LABELS = 250;
const VALUES = 80;
const MARGIN = 20;
const ROW = 20;
const PANEL_HEAD = 34;
const PANEL_GAP = 18;
const HEAD = 44;
const HEAD_LINE = 15;
const LEFT = MARGIN + LABELS;
const RIGHT = WIDTH - MARGIN - VALUES;

const OURS = '#1a7f37';
const OTHERS = '#8c959f';
const GRID = '#d8dee4';
const QUIET = '#59636e';

/** Each chart by the name of its file. All but `growth`: one panel for each scenario, one row for each variant. */
export const CHARTS = {
  throughput: (scenarios) =>
    bars(scenarios, {
      title: 'Throughput',
      about: 'Sections, or cycles of acquire and release, per second. More is better.',
      key: 'throughput',
      digits: 0,
    }),
  waits: (scenarios) => ranges(scenarios),
  fairness: (scenarios) =>
    bars(scenarios, {
      title: 'Fairness',
      about: "Jain's index over the callers: 1 when all have had as many turns, 1/n when one has had them all.",
      key: 'jain',
      digits: 3,
      end: 1,
    }),
  commands: (scenarios) =>
    bars(scenarios, {
      title: 'Commands per acquisition',
      about: 'What the clients have sent to Redis for each section, waiting and release included. Less is better.',
      key: 'commands',
      digits: 2,
    }),
  growth: (scenarios) => curves(scenarios),
  'hot-key': (scenarios) => bestOfEach(scenarios),
};

/** The chart as SVG, or `undefined` when no scenario of the run belongs into it. */
export function draw(name, scenarios) {
  const shown = scenarios
    .filter(({ charts }) => charts.includes(name))
    .map((scenario) => ({ ...scenario, results: scenario.results.filter(({ rounds }) => rounds.length > 0) }))
    .filter(({ results }) => results.length > 0);
  return shown.length > 0 ? CHARTS[name](shown) : undefined;
}

function bars(scenarios, { title, about, key, digits, end }) {
  return panels(scenarios, { title, about }, ({ results }, y) => {
    const values = results.map(({ medians }) => (Number.isFinite(medians[key]) ? medians[key] : 0));
    const scale = (RIGHT - LEFT) / (end ?? Math.max(...values, Number.MIN_VALUE));
    return results.flatMap((result, i) => {
      const [top, width] = [y + i * ROW, Math.max(1, values[i] * scale)];
      return [
        ...label(result, top),
        rect(LEFT, top + 3, width, ROW - 7, { fill: colorOf(result) }),
        text(LEFT + width + 6, top + 14, format(values[i], digits), { fill: QUIET }),
      ];
    });
  });
}

/** One row for each library: its variant with the most sections per second. Ours with both releases. */
function bestOfEach(scenarios) {
  const shown = scenarios.map(({ results, ...scenario }) => {
    const byThroughput = results.toSorted((a, b) => b.medians.throughput - a.medians.throughput);
    const isBest = (result) => byThroughput.find(({ library }) => library === result.library) === result;
    const isShown = (result) => isOurs(result) || (isBest(result) && result.library !== 'scripts');
    return { ...scenario, results: results.filter(isShown) };
  });
  const title = 'Sections per second, and the longest wait of a caller';
  const about = 'Of each other library, the variant with the most sections per second.';
  return panels(shown, { title, about }, ({ results }, y) => {
    const scale = (RIGHT - LEFT - VALUES) / Math.max(...results.map(({ medians }) => medians.throughput));
    return results.flatMap((result, i) => {
      const [top, { throughput, longest }] = [y + i * ROW, result.medians];
      const width = Math.max(1, throughput * scale);
      const value = `${format(throughput, 0)}, longest wait ${format(longest, 0)} ms`;
      return [
        ...label(result, top),
        rect(LEFT, top + 3, width, ROW - 7, { fill: colorOf(result) }),
        text(LEFT + width + 6, top + 14, value, { fill: QUIET }),
      ];
    });
  });
}

/** Waiting times on a scale of powers of ten. */
function ranges(scenarios) {
  const all = scenarios.flatMap(({ results }) => results.flatMap(({ waits }) => waits ?? []));
  const from = Math.floor(Math.log10(Math.min(...all.map((waits) => waits.quantile(0.1)))));
  const to = Math.ceil(Math.log10(Math.max(...all.map(({ max }) => max))));
  const at = (ms) => LEFT + ((Math.log10(Math.max(ms, 10 ** from)) - from) / (to - from)) * (RIGHT - LEFT);
  const head = {
    title: 'Waiting times, on a logarithmic scale',
    about:
      'Bar: from the 10th to the 90th percentile; stroke in it: the median; line: to the 99th; circle: the longest wait.\n' +
      'Waits that were not over at the end of the measurement are counted as long as they were by then.',
  };
  return panels(scenarios, head, ({ results }, y) => {
    const bottom = y + results.length * ROW;
    const grid = Array.from({ length: to - from + 1 }, (_, i) => 10 ** (from + i)).flatMap((ms) => [
      line(at(ms), y, at(ms), bottom, { stroke: GRID }),
      text(at(ms), y - 4, unit(ms), { fill: QUIET, 'text-anchor': 'middle', 'font-size': 10 }),
    ]);
    return [...grid, ...results.flatMap((result, i) => range(result, y + i * ROW, at))];
  });
}

function range(result, top, at) {
  const { waits } = result;
  if (waits === undefined) return label(result, top);
  const [p10, p50, p90, p99] = [0.1, 0.5, 0.9, 0.99].map((q) => at(waits.quantile(q)));
  const [color, middle] = [colorOf(result), top + ROW / 2];
  return [
    ...label(result, top),
    line(p90, middle, p99, middle, { stroke: color, 'stroke-width': 2 }),
    rect(p10, top + 4, Math.max(1, p90 - p10), ROW - 9, { fill: color }),
    line(p50, top + 3, p50, top + ROW - 4, { stroke: '#ffffff', 'stroke-width': 2 }),
    circle(at(waits.max), middle, 4, { fill: '#ffffff', stroke: color, 'stroke-width': 2 }),
  ];
}

function panels(scenarios, { title, about }, draw) {
  const lines = about.split('\n');
  let y = HEAD + lines.length * HEAD_LINE;
  const body = [
    text(MARGIN, 26, title, { 'font-size': 17, 'font-weight': 600 }),
    ...lines.map((each, i) => text(MARGIN, 45 + i * HEAD_LINE, each, { fill: QUIET, 'font-size': 11 })),
  ];
  for (const scenario of scenarios) {
    body.push(text(MARGIN, y + 16, scenario.title, { 'font-size': 13, 'font-weight': 600 }));
    y += PANEL_HEAD;
    body.push(...draw(scenario, y));
    y += scenario.results.length * ROW + PANEL_GAP;
  }
  return svg({ width: WIDTH, height: y, title, about }, body);
}

const label = (result, top) => [
  text(LEFT - 8, top + 14, result.label, {
    'text-anchor': 'end',
    ...(isOurs(result) ? { 'font-weight': 600, fill: OURS } : {}),
  }),
];

const isOurs = ({ library }) => library === 'ours';
const colorOf = (result) => (isOurs(result) ? OURS : OTHERS);

function unit(ms) {
  if (ms >= 1_000) return `${ms / 1_000} s`;
  if (ms >= 1) return `${ms} ms`;
  return `${Number((ms * 1_000).toPrecision(3))} µs`;
}
