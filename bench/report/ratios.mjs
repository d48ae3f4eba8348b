import { median } from '../harness/statistics.mjs';

const CONTENDED = [
  ...['hot-1x64', 'hot-4x16', 'hot-16x1', 'section-5ms', 'section-20ms', 'many-keys', 'slow-network'],
  ...['readers', 'read-write', 'permits'],
];

/**
 * Ours against the floors and against the others, as ratios: the median of the ratios of each round, in which they took
 * turns. `{ measure, value }`, value as text.
 */
export function ratios(scenarios) {
  const of = Object.fromEntries(scenarios.map((scenario) => [scenario.name, new Field(scenario)]));
  return [
    ...compare(of['sequential'], (field) => [
      ['Sequential: median latency against raw', field.against(field.raw, 'p50')],
      ['Sequential: mean latency against raw', field.against(field.raw, 'mean')],
      ['Sequential: median latency against its scripts alone', field.against(field.scripts, 'p50')],
      ['Sequential: mean latency against its scripts alone', field.against(field.scripts, 'mean')],
      ['Sequential: median latency against its scripts alone, evalsha', field.against(field.evalsha, 'p50')],
      ['Sequential: median latency against the lowest of a peer', field.against(field.best('p50'), 'p50')],
      ['Sequential: throughput against the fastest peer', field.against(field.best('throughput'), 'throughput')],
    ]),
    ...compare(of['concurrent'], (field) => [
      ['64 concurrent: throughput against raw', field.against(field.raw, 'throughput')],
      ['64 concurrent: throughput against its scripts alone', field.against(field.scripts, 'throughput')],
      ['64 concurrent: throughput against the fastest peer', field.against(field.best('throughput'), 'throughput')],
    ]),
    ...CONTENDED.flatMap((name) => compare(of[name], contended)),
  ].filter(({ value }) => value !== undefined);
}

function contended(field) {
  const fair = field.best('throughput', ({ medians }) => medians.jain >= 0.95);
  const { title } = field;
  return [
    [`${title}: throughput against its scripts alone`, field.against(field.scripts, 'throughput')],
    [`${title}: throughput against the fastest peer`, field.against(field.best('throughput'), 'throughput')],
    [`${title}: throughput against the fastest peer with Jain ≥ 0.95`, field.against(fair, 'throughput')],
    [`${title}: p99 of the wait against the lowest of a peer`, field.against(field.best('p99'), 'p99')],
    [`${title}: longest wait against the lowest of a peer`, field.against(field.best('longest'), 'longest')],
    [`${title}: commands against the lowest of a peer`, field.against(field.best('commands'), 'commands')],
    ...(field.background === undefined ? [] : inTheBackground(field)),
  ];
}

/** A release in the background may be taken over in the same turn, so it is shown beside the awaited release. */
function inTheBackground(field) {
  const title = `${field.title}, release in the background`;
  const fastest = field.best('throughput');
  return [
    [`${title}: throughput against the fastest peer`, field.against(fastest, 'throughput', field.background)],
    [`${title}: longest wait against that peer`, field.against(fastest, 'longest', field.background)],
  ];
}

const compare = (field, rows) =>
  field?.ours === undefined ? [] : rows(field).map(([measure, value]) => ({ measure, value }));

class Field {
  constructor({ title, results }) {
    this.title = title;
    const measured = results.filter(({ rounds }) => rounds.length > 0);
    const find = (name, wanted = 'defaults') =>
      measured.find(({ library, variant }) => library === name && variant === wanted);
    this.ours = find('ours');
    this.background = find('ours', 'background');
    this.raw = find('raw');
    this.scripts = find('scripts');
    this.evalsha = find('scripts', 'evalsha');
    const own = [this.ours, this.background, this.raw, this.scripts, this.evalsha];
    this.peers = measured.filter((result) => !own.includes(result) && result.world === undefined);
  }

  /** The peer with the most throughput, or with the least of anything else. */
  best(key, where = () => true) {
    const sign = key === 'throughput' ? -1 : 1;
    return this.peers.filter(where).sort((a, b) => sign * (a.medians[key] - b.medians[key]))[0];
  }

  against(other, key, own = this.ours) {
    if (other === undefined) return undefined;
    const pairs = own.rounds.map((mine) => mine[key] / other.rounds.find(({ round }) => round === mine.round)?.[key]);
    const ratio = median(pairs);
    return Number.isFinite(ratio) ? `${Number(ratio.toPrecision(3))} × (${other.label})` : undefined;
  }
}
