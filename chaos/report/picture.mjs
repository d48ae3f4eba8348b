import { line, rect, svg, text } from '../../bench/report/svg.mjs';
import { laneOf } from '../checker/model.mjs';

const WIDTH = 1_200;
const LEFT = 90;
const ROW = 15;
const GAP = 10;
const TOP = 62;
/** ms shown before and after. */
const AROUND = 600;

const COLOURS = ['#d1495b', '#2e8b57', '#2a6fbb', '#8a5fbf', '#b8860b'];
const FAULT = '#f2c14e';
const GUILTY = '#111111';

/**
 * The history around a finding: a band for each client with the holds in which it believed, one for the faults. Those
 * concerned have a black frame; what is waited for is a thin line.
 */
export function picture(model, { rule, at, message, operations }) {
  const guilty = new Set(operations);
  const concerned = model.holds.filter(({ op }) => guilty.has(op));
  const from = Math.min(at, ...concerned.map((hold) => hold.from)) - AROUND;
  const to = Math.max(at, ...concerned.map((hold) => Math.min(hold.to, at + 2 * AROUND))) + AROUND;
  const x = (moment) => LEFT + ((Math.min(Math.max(moment, from), to) - from) / (to - from)) * (WIDTH - LEFT - 20);
  const isSeen = (begin, end = Infinity) => begin <= to && end >= from;
  const body = [
    text(12, 22, `${rule} at ${(at / 1_000).toFixed(3)} s`, { 'font-size': 15, 'font-weight': 600 }),
    text(12, 40, message, { 'font-size': 11 }),
  ];
  const scale = { x, isSeen };
  let y = TOP;
  const band = (name, rows, draw) => {
    const height = Math.max(1, rows.length) * ROW;
    body.push(text(12, y + 12, name), line(LEFT, y - GAP / 2, WIDTH - 20, y - GAP / 2, { stroke: '#dddddd' }));
    rows.forEach((row, i) => row.forEach((each) => body.push(...draw(each, y + i * ROW))));
    y += height + GAP;
  };

  const faults = model.faults.filter(({ begin, end }) => isSeen(begin, end));
  for (const { begin, end = begin } of faults.filter((fault) => fault.breaks !== undefined)) {
    body.push(rect(x(begin), TOP, Math.max(2, x(end) - x(begin)), 4_000, { fill: FAULT, opacity: 0.25 }));
  }
  band(
    'faults',
    stacked(
      faults.map((fault) => ({ ...fault, from: fault.begin, to: fault.end ?? to, room: 130 })),
      scale,
    ),
    drawFault(scale),
  );
  for (const lane of model.run.clients) {
    const holds = model.holds.filter((hold) => hold.lane === lane && isSeen(hold.invokedAt, hold.to));
    band(
      lane,
      stacked(
        holds.map((hold) => ({ ...hold, holdFrom: hold.from, from: hold.invokedAt })),
        scale,
      ),
      drawHold(scale, model.run.keys, guilty),
    );
    for (const stall of model.stall.filter((each) => laneOf(each) === lane && isSeen(each.from, each.to))) {
      body.push(rect(x(stall.from), y - GAP - 3, x(stall.to) - x(stall.from), 3, { fill: '#999999' }));
    }
  }
  body.push(line(x(at), TOP - 10, x(at), y, { stroke: GUILTY, 'stroke-dasharray': '3 3' }));
  model.run.keys.forEach((key, i) =>
    body.push(
      rect(LEFT + i * 110, y + 2, 10, 10, { fill: colourOf(model.run.keys, key) }),
      text(LEFT + 15 + i * 110, y + 11, key),
    ),
  );
  body.push(
    text(
      LEFT + model.run.keys.length * 110,
      y + 11,
      `${Math.round(to - from)} ms; grey below a client: it did not run`,
      { fill: '#666666' },
    ),
  );
  return svg({ width: WIDTH, height: y + 24, title: `${rule} at ${Math.round(at)} ms`, about: message }, body);
}

const drawFault =
  ({ x }) =>
  ({ id, kind, client, server, key, from, to, breaks }, y) => [
    rect(x(from), y, Math.max(3, x(to) - x(from)), ROW - 3, { fill: breaks === undefined ? FAULT : '#e4572e' }),
    text(
      x(from) + 3,
      y + 10,
      [`${id} ${kind}`, client, server === undefined ? key : `server ${server}`].filter(Boolean).join(', '),
      { 'font-size': 9 },
    ),
  ];

const drawHold =
  ({ x }, keys, guilty) =>
  ({ op, key, mode, token, from, holdFrom, to }, y) => [
    line(x(from), y + ROW / 2, x(holdFrom), y + ROW / 2, { stroke: colourOf(keys, key), 'stroke-width': 1 }),
    rect(x(holdFrom), y, Math.max(1.5, x(to) - x(holdFrom)), ROW - 3, {
      ...{ fill: colourOf(keys, key), opacity: mode === 'exclusive' ? 0.85 : 0.4 },
      ...(guilty.has(op) && { stroke: GUILTY, 'stroke-width': 2 }),
    }),
    ...(guilty.has(op)
      ? [text(x(holdFrom) + 3, y + 10, `${op} ${mode} ${token}`, { 'font-size': 9, fill: GUILTY })]
      : []),
  ];

const colourOf = (keys, key) => COLOURS[keys.indexOf(key) % COLOURS.length];

/** Rows in which nothing lies on anything else. */
function stacked(things, { x }) {
  const rows = [];
  for (const thing of [...things].sort((a, b) => a.from - b.from)) {
    const end = Math.max(x(thing.to), x(thing.from) + (thing.room ?? 2));
    const row = rows.find((each) => each.end <= x(thing.from));
    if (row) {
      row.end = end;
      row.things.push(thing);
    } else {
      rows.push({ end, things: [thing] });
    }
  }
  return rows.map((row) => row.things);
}
