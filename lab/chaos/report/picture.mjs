import { line, rect, svg, text } from '../../../bench/report/svg.mjs';
import { laneOf } from '../../checker/terms.mjs';

const WIDTH = 1_200;
const LEFT = 90;
const RIGHT = 20;
const TOP = 62;
const ROW = 15;
const GAP = 10;
/** ms shown before and after. */
const AROUND = 600;

const COLOURS = ['#d1495b', '#2e8b57', '#2a6fbb', '#8a5fbf', '#b8860b'];
const FAULT = '#f2c14e';
const BREAK = '#e4572e';
const GUILTY = '#111111';
const SMALL = { 'font-size': 9 };

/**
 * The history around a finding: a band for each client with its holds, and one for the faults. The operations concerned
 * have a black frame; waiting is a thin line.
 * @param {object} model
 * @param {import('../../checker/check.mjs').Finding} finding
 * @returns {string}
 */
export function picture(model, finding) {
  const { rule, at, message } = finding;
  const frame = frameAround(model, finding);
  const bands = [
    { name: 'faults', rows: stacked(faultsIn(frame, model)), draw: drawFault },
    ...(model.run.clients ?? []).map((lane) => ({
      name: lane,
      rows: stacked(operationsIn(frame, model, lane)),
      stalls: model.stall.filter((each) => laneOf(each) === lane && frame.isSeen(each.from, each.to)),
      draw: drawOperation,
    })),
  ];
  let y = TOP;
  const body = [];
  for (const { name, rows, draw, stalls = [] } of bands) {
    body.push(line(LEFT, y - GAP / 2, WIDTH - RIGHT, y - GAP / 2, { stroke: '#dddddd' }), text(12, y + 12, name));
    rows.forEach((row, i) => row.forEach((each) => body.push(...draw(frame, each, y + i * ROW))));
    y += Math.max(1, rows.length) * ROW;
    for (const { from, to } of stalls) body.push(bar(frame, from, to, y - 2, 3, { fill: '#999999' }));
    y += GAP;
  }
  const breaks = model.breaks.filter(({ from, to }) => frame.isSeen(from, to));
  return svg({ width: WIDTH, height: y + 24, title: `${rule} at ${Math.round(at)} ms`, about: message }, [
    text(12, 22, `${rule} at ${(at / 1_000).toFixed(3)} s${explanation(finding)}`, {
      'font-size': 15,
      'font-weight': 600,
    }),
    text(12, 40, message, { 'font-size': 11 }),
    ...breaks.map(({ from, to }) => bar(frame, from, to, TOP, y - TOP, { fill: BREAK, opacity: 0.15 })),
    ...body,
    line(frame.x(at), TOP - 10, frame.x(at), y, { stroke: GUILTY, 'stroke-dasharray': '3 3' }),
    ...legend(frame, y),
  ]);
}

const explanation = ({ assumption, fault }) =>
  assumption === undefined ? '' : `, explained: ${assumption} (fault ${fault})`;

/** The stretch of time that is shown, and where each moment of it lies. */
function frameAround(model, { at, operations }) {
  const guilty = new Set(operations);
  const concerned = model.holds.filter(({ op }) => guilty.has(op));
  const from = Math.min(at, ...concerned.map((hold) => hold.from)) - AROUND;
  const to = Math.max(at, ...concerned.map((hold) => Math.min(hold.to, at + 2 * AROUND))) + AROUND;
  const within = (moment) => Math.min(Math.max(moment, from), to);
  return {
    ...{ from, to, guilty, keys: model.run.keys ?? [] },
    x: (moment) => LEFT + ((within(moment) - from) / (to - from)) * (WIDTH - LEFT - RIGHT),
    isSeen: (begin, end = Infinity) => begin <= to && end >= from,
  };
}

const faultsIn = ({ x, to, isSeen }, { faults }) =>
  faults
    .filter(({ begin, end }) => isSeen(begin, end))
    .map((fault) => ({ ...fault, left: x(fault.begin), right: Math.max(x(fault.end ?? to), x(fault.begin) + 140) }));

/** Holds, and the concerned operations that have only waited. */
function operationsIn({ x, to, isSeen, guilty }, { holds, operations }, lane) {
  const waits = operations
    .filter(({ op, validity }) => guilty.has(op) && validity?.from === undefined)
    .map((each) => ({ ...each, key: each.keys[0], from: each.outcome?.at ?? to, to: each.outcome?.at ?? to }));
  return [...holds, ...waits]
    .filter((each) => each.lane === lane && isSeen(each.invokedAt, each.to))
    .map((each) => ({ ...each, left: x(each.invokedAt), right: x(each.to) + 2 }));
}

function drawFault(frame, { id, kind, client, server, key, begin, end = frame.to, breaks }, y) {
  const whom = [`${id} ${kind}`, client, server === undefined ? key : `server ${server}`].filter(Boolean).join(', ');
  return [
    bar(frame, begin, end, y, ROW - 3, { fill: breaks === undefined ? FAULT : BREAK }),
    text(frame.x(begin) + 5, y + 10, whom, SMALL),
  ];
}

function drawOperation(frame, { op, key, mode, token, invokedAt, from, to }, y) {
  const fill = colourOf(frame, key);
  const isGuilty = frame.guilty.has(op);
  const wait = line(frame.x(invokedAt), y + ROW / 2, frame.x(from), y + ROW / 2, { stroke: fill });
  if (from > frame.to) return [wait];
  return [
    wait,
    bar(frame, from, to, y, ROW - 3, {
      ...{ fill, 'fill-opacity': mode === 'exclusive' ? 0.85 : 0.4 },
      ...(isGuilty && { stroke: GUILTY, 'stroke-width': 2 }),
    }),
    ...(isGuilty ? [text(frame.x(from) + 3, y + 10, `${op} ${mode} ${token ?? ''}`, SMALL)] : []),
  ];
}

function legend(frame, y) {
  const end = LEFT + frame.keys.length * 110;
  const notes = `${Math.round(frame.to - frame.from)} ms; pale: readers and permits; grey below a client: it did not run`;
  return [
    ...frame.keys.flatMap((key, i) => [
      rect(LEFT + i * 110, y + 2, 10, 10, { fill: colourOf(frame, key) }),
      text(LEFT + 15 + i * 110, y + 11, key),
    ]),
    text(end, y + 11, notes, { fill: '#666666' }),
  ];
}

const bar = ({ x }, from, to, y, height, attributes) =>
  rect(x(from), y, Math.max(2, x(to) - x(from)), height, attributes);

const colourOf = ({ keys }, key) => COLOURS[Math.max(0, keys.indexOf(key)) % COLOURS.length];

/** Rows in which nothing lies on anything else. */
function stacked(things) {
  const rows = [];
  for (const thing of [...things].sort((a, b) => a.left - b.left)) {
    const row = rows.find(({ right }) => right <= thing.left);
    if (row) Object.assign(row, { right: thing.right, things: [...row.things, thing] });
    else rows.push({ right: thing.right, things: [thing] });
  }
  return rows.map((row) => row.things);
}
