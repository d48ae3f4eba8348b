import { circle, line, polyline, svg, text } from './svg.mjs';
import { format } from './format.mjs';

const WIDTH = 900;
const HEAD = 60;
const COLUMNS = 2;
const PANEL = { width: 440, height: 200, left: 32, right: 80, top: 46, bottom: 32 };
const MARGIN = 20;

const COLORS = ['#1a7f37', '#0969da', '#8250df'];
const GRID = '#d8dee4';
const QUIET = '#59636e';

/**
 * How values grow with a number on a logarithmic scale, from 0 on the other one. A panel for each entry in `curves` of
 * the scenarios: `{ title, of, lines: [{ key, name }], digits }`. `of` chooses the results, `lines` their values.
 */
export function curves(scenarios) {
  const title = 'Growth';
  const about = 'Each panel: a value against a number, which grows to the right on a logarithmic scale.';
  const panels = scenarios.flatMap(({ results, curves: all }) =>
    all
      .map((curve) => ({ ...curve, results: results.filter(curve.of).sort((a, b) => a.n - b.n) }))
      .filter((curve) => curve.results.length > 0),
  );
  const height = HEAD + Math.ceil(panels.length / COLUMNS) * PANEL.height;
  return svg({ width: WIDTH, height, title, about }, [
    text(MARGIN, 26, title, { 'font-size': 17, 'font-weight': 600 }),
    text(MARGIN, 45, about, { fill: QUIET, 'font-size': 11 }),
    ...panels.flatMap((panel, i) =>
      draw(panel, (i % COLUMNS) * PANEL.width, HEAD + Math.floor(i / COLUMNS) * PANEL.height),
    ),
  ]);
}

function draw({ title, lines, digits = 0, results }, left, top) {
  const numbers = results.map(({ n }) => n);
  const highest = Math.max(...results.flatMap(({ medians }) => lines.map(({ key }) => medians[key])));
  const [from, to] = [left + PANEL.left, left + PANEL.width - PANEL.right];
  const [zero, end] = [top + PANEL.height - PANEL.bottom, top + PANEL.top];
  const span = Math.log(numbers.at(-1) / numbers[0]) || 1;
  const x = (n) => from + (Math.log(n / numbers[0]) / span) * (to - from);
  const y = (value) => zero - (value / highest) * (zero - end);
  return [
    text(left + MARGIN, top + 20, title, { 'font-size': 13, 'font-weight': 600 }),
    line(from, zero, to, zero, { stroke: GRID }),
    ...numbers.map((n) => text(x(n), zero + 15, format(n, 0), { ...axis, 'text-anchor': 'middle' })),
    ...apart(lines.map(({ key }) => y(results.at(-1).medians[key]))).flatMap((label, i) => {
      const { key, name } = lines[i];
      const points = results.map(({ n, medians }) => [x(n), y(medians[key])]);
      const last = [name, format(results.at(-1).medians[key], digits)].filter(Boolean).join(' ');
      return [
        polyline(points, { stroke: COLORS[i], 'stroke-width': 2, fill: 'none' }),
        ...points.map(([px, py]) => circle(px, py, 2.5, { fill: COLORS[i] })),
        text(to + 8, label + 4, last, { fill: COLORS[i], 'font-size': 11 }),
        ...(lines.length > 1 ? [] : values(results, points, key, digits)),
      ];
    }),
  ];
}

const axis = { fill: QUIET, 'font-size': 10 };
/** A text above its point that stays readable where the line crosses it. */
const halo = { 'text-anchor': 'middle', stroke: '#ffffff', 'stroke-width': 3, 'paint-order': 'stroke' };
const LABEL = 13;

/** The values above the points of a single line, but for the last, which stands at its end. */
const values = (results, points, key, digits) =>
  points.slice(0, -1).map(([x, y], i) => text(x, y - 6, format(results[i].medians[key], digits), { ...axis, ...halo }));

/** Moves labels down that would cover each other. */
function apart(heights) {
  const placed = [...heights];
  const order = heights.map((_, i) => i).sort((a, b) => heights[a] - heights[b]);
  for (let i = 1; i < order.length; i++) placed[order[i]] = Math.max(placed[order[i]], placed[order[i - 1]] + LABEL);
  return placed;
}
