import { byId, drawn, element, span } from './dom.js';
import { boundOf, count, quantile, rate, sum, time } from './format.js';

const HEIGHT = 150;
const MARGIN = { left: 34, right: 8, top: 8, bottom: 20 };
/** The smallest range of a chart, so that few values do not fill it with one bar: 0.1 ms to 1 s. */
const FEWEST_BUCKETS = 17;
/** The width of the longest text below the axis. */
const LABEL = 52;

/** A drawing as wide as its figure, so that texts keep their size. */
function draw(figure, label) {
  const width = Math.max(200, figure.clientWidth - 28);
  const svg = drawn('svg', { viewBox: `0 0 ${width} ${HEIGHT}`, role: 'img', 'aria-label': label });
  return { svg, width, bottom: HEIGHT - MARGIN.bottom, inner: width - MARGIN.left - MARGIN.right };
}

const short = (number) => number.toLocaleString('en', { notation: 'compact' });

/** A round number not below `value`. */
function ceiling(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= value);
}

const put = (svg, x, y, anchor, text) => svg.append(drawn('text', { x, y, 'text-anchor': anchor }, text));

function drawScale({ svg, width, bottom }, top, text) {
  for (const part of [0, 0.5, 1]) {
    const y = bottom - part * (bottom - MARGIN.top);
    svg.append(drawn('line', { class: 'grid', x1: MARGIN.left, x2: width - MARGIN.right, y1: y, y2: y }));
    if (part !== 0.5) put(svg, MARGIN.left - 6, y + 4, 'end', text(part * top));
  }
}

function fillFigure(id, title, figures, svg, legend) {
  const caption = element('figcaption', {}, title, span('figures', figures));
  const items = legend.map(([series, name]) => element('li', {}, element('i', { class: series }), name));
  byId(id).replaceChildren(caption, svg, element('ul', { class: 'legend' }, ...items));
}

/** A logarithmic histogram of durations, with several series on top of each other. */
export function drawHistogram(id, title, { buckets, series }) {
  const all = series[0].counts.map((_, i) => sum(series.map(({ counts }) => counts[i])));
  const total = sum(all);
  const quantiles = [0.5, 0.95, 0.99].map((part) => [Math.round(part * 100), quantile(buckets, all, part)]);
  const longest = time(boundOf(buckets, buckets.count - 2));
  const figures =
    total === 0
      ? 'nothing yet'
      : quantiles.map(([part, ms]) => `p${part} ${ms === Infinity ? `> ${longest}` : `≤ ${time(ms)}`}`).join(' · ');
  const chart = draw(byId(id), `${title} of ${count(total)} locks: ${figures}`);
  const { svg, bottom, inner } = chart;
  const shown = Math.max(FEWEST_BUCKETS, all.findLastIndex((each) => each > 0) + 2);
  const step = inner / shown;
  const top = ceiling(Math.max(...all));
  drawScale(chart, top, short);
  drawDecades(chart, buckets, step, shown);
  for (let i = 0; i < shown; i++) {
    let y = bottom;
    for (const { counts, look, name } of series) {
      if (!counts[i]) continue;
      // A single value among thousands is visible, too.
      const height = Math.max(1.5, (counts[i] / top) * (bottom - MARGIN.top));
      const [x, width] = [MARGIN.left + i * step + 0.5, Math.max(1, step - 1.5)];
      const bar = { class: look, x, y: y - height, width, height, rx: 1 };
      svg.append(drawn('rect', bar, drawn('title', {}, `${count(counts[i])} ${name}, ${rangeOf(buckets, i)}`)));
      y -= height;
    }
  }
  const legend = series.map(({ look, name, counts }) => [look, `${name} ${count(sum(counts))}`]);
  fillFigure(id, title, figures, svg, legend);
}

const rangeOf = (buckets, i) =>
  i === buckets.count - 1 ? `longer than ${time(boundOf(buckets, i - 1))}` : `up to ${time(boundOf(buckets, i))}`;

function drawDecades({ svg, bottom, width }, { first, perDecade }, step, shown) {
  // On a narrow screen, only each second or third decade has room for its text.
  const every = perDecade * Math.ceil(LABEL / (perDecade * step));
  for (let i = 0; i < shown; i += every) {
    // Bucket i ends at its bound.
    const x = MARGIN.left + (i + 1) * step;
    const ms = first * 10 ** (i / perDecade);
    svg.append(drawn('line', { class: 'grid', x1: x, x2: x, y1: bottom, y2: bottom + 4 }));
    const anchor = x + LABEL / 2 > width ? 'end' : 'middle';
    put(svg, Math.min(x, width), bottom + 16, anchor, shortTime(ms));
  }
}

const shortTime = (ms) => (ms < 1_000 ? `${+ms.toPrecision(1)} ms` : `${count(Math.round(ms / 1_000))} s`);

/** The acquisitions per second, and the times of losses and timeouts. */
export function drawRate(id, { acquired, timeouts, lost, slot, window }) {
  const perSecond = acquired.map((each) => (each * 1_000) / slot);
  // The last slot is not complete.
  const whole = perSecond.slice(0, -1);
  const now = whole.at(-1) ?? 0;
  const most = Math.max(...whole);
  const figures = `now ${rate(now)}/s · peak ${rate(most)}/s`;
  const chart = draw(byId(id), `Acquisitions per second over the last ${window / 60_000} minutes: ${figures}`);
  const { svg, bottom, inner } = chart;
  const top = ceiling(most);
  drawScale(chart, top, (each) => (each >= 1_000 ? short(each) : rate(each)));
  const x = (i) => MARGIN.left + (i / (whole.length - 1)) * inner;
  const y = (each) => bottom - (each / top) * (bottom - MARGIN.top);
  const points = whole.map((each, i) => `${x(i).toFixed(1)},${y(each).toFixed(1)}`).join(' ');
  const area = `${x(0)},${bottom} ${points} ${x(whole.length - 1)},${bottom}`;
  svg.append(drawn('polygon', { class: 'area', points: area }), drawn('polyline', { class: 'curve', points }));
  drawMarks(chart, x, timeouts, 'series-warning', 'timed out');
  drawMarks(chart, x, lost, 'series-bad', 'lost');
  const minutes = window / 60_000;
  for (let minute = 0; minute <= minutes; minute++) {
    const text = minute === minutes ? 'now' : `−${minutes - minute}${minute === 0 ? 'm' : ''}`;
    const anchor = minute === 0 ? 'start' : minute === minutes ? 'end' : 'middle';
    put(svg, MARGIN.left + (minute / minutes) * inner, bottom + 16, anchor, text);
  }
  fillFigure(id, 'Acquired per second', figures, svg, [
    ['series-1', `acquired ${count(sum(acquired))}`],
    ['series-warning', `timeouts ${count(sum(timeouts))}`],
    ['series-bad', `lost ${count(sum(lost))}`],
  ]);
}

function drawMarks({ svg, bottom }, x, counts, look, name) {
  counts.forEach((each, i) => {
    if (each === 0) return;
    const at = x(Math.min(i, counts.length - 2));
    const mark = { class: look, cx: at, cy: bottom - 5, r: 4 };
    svg.append(drawn('circle', mark, drawn('title', {}, `${count(each)} ${name}`)));
  });
}
