import { check, type ChaosEvent } from '../../lab/checker/check.mjs';

/** The fields of a hold in a made-up history; times are ms. */
export interface StoryHold {
  readonly key?: string;
  readonly mode?: 'exclusive' | 'read' | 'permits';
  readonly units?: number;
  readonly owner?: string;
  /** How many replicas had to confirm it. */
  readonly replicas?: number;
  readonly token: number;
  readonly askedAt?: number;
  /** The first and the last look that said yes. */
  readonly from: number;
  readonly to: number;
  /** Until when the hold was valid by its clock, at its last look. */
  readonly until?: number;
  /** The event after the last look: `release` and `lost` at once; `killed`: nothing any more. */
  readonly end?: 'release' | 'lost' | 'killed' | { readonly lostAt: number } | { readonly releasedAt: number };
}

/** Puts together a history for the checker, complete and without faults except the ones that a test adds. */
export class ChaosStory {
  private readonly told: ChaosEvent[] = [];
  private operations = 0;
  private faults = 0;
  private failovers = 0;

  constructor(private readonly options: { readonly permits?: number; readonly skews?: readonly number[] } = {}) {}

  /** Any event. */
  event(at: number, type: string, details: object = {}): this {
    this.told.push({ at, type, ...details });
    return this;
  }

  /** A whole operation of a client, from the question to its end; answers its name. */
  hold(client: string, hold: StoryHold): string {
    const { key = 'stock', mode = 'exclusive', units, owner, replicas, token, from, to, end = 'release' } = hold;
    const { askedAt = from - 5, until = to + 100 } = hold;
    const terms = { key, mode, units, owner, replicas: replicas && { min: replicas } };
    const op = this.ask(client, { at: askedAt, ...terms });
    this.granted(op, { at: from - 1, client, owner: owner ?? op, tokens: { [key]: token } });
    this.event(from, 'look', { client, op, held: true, until });
    this.event(to, 'look', { client, op, held: true, until });
    if (end === 'release') this.event(to + 0.1, 'release', { client, op });
    else if (end === 'lost') this.event(to + 0.1, 'lost', { client, op });
    else if (end === 'killed') this.event(to + 0.1, 'down', { client });
    else if ('lostAt' in end) this.event(end.lostAt, 'lost', { client, op });
    else this.event(end.releasedAt, 'release', { client, op });
    return op;
  }

  ask(client: string, { at, key = 'stock', mode = 'exclusive', wait = 1_000, ...details }: AskDetails): string {
    const op = `${client}.${++this.operations}`;
    this.event(at, 'invoke', { client, op, kind: mode, keys: [key], mode, wait, ...details });
    return op;
  }

  granted(op: string, { at, ...details }: { at: number; client: string; owner: string; tokens: object }): this {
    return this.event(at, 'ok', { op, ...details });
  }

  /** A fault, with the presumption that it `breaks`, if there is one. */
  fault(kind: string, { begin, active = begin, end = active + 1, ...details }: FaultDetails): number {
    const id = ++this.faults;
    for (const [phase, at] of Object.entries({ begin, active, end })) {
      this.event(at, 'fault', { id, kind, phase, ...details });
    }
    return id;
  }

  /** A replica that became the master: until `to` the old one acknowledged as well. */
  failover({ at, from = at - 20, to = at + 50, ...details }: FailoverDetails): this {
    const id = ++this.failovers;
    this.event(at, 'failover', { id, phase: 'begin', server: 0, from, ...details });
    return this.event(to, 'failover', { id, phase: 'end' });
  }

  /** All of it in the order of time, with a beginning and an end. */
  get events(): ChaosEvent[] {
    const { permits = 3, skews } = this.options;
    const begin = { at: 0, type: 'begin', seed: 1, topology: 'single', length: 60_000, permits, skews };
    const places = { clients: ['a', 'b', 'c'], keys: ['stock', 'other'] };
    return [
      { ...begin, ...places },
      ...[...this.told].sort((one, other) => one.at - other.at),
      { at: 90_000, type: 'left', keys: [] },
      { at: 90_001, type: 'end' },
    ];
  }
}

interface AskDetails {
  readonly at: number;
  readonly key?: string;
  readonly mode?: string;
  readonly wait?: number;
  readonly [detail: string]: unknown;
}

interface FaultDetails {
  readonly begin: number;
  /** From when on it was in force. */
  readonly active?: number;
  readonly end?: number;
  readonly breaks?: string;
  readonly key?: string;
  readonly [detail: string]: unknown;
}

interface FailoverDetails {
  readonly at: number;
  readonly from?: number;
  readonly to?: number;
  /** When clients were notified. */
  readonly told?: number;
  readonly keys?: readonly string[];
}

/**
 * A hold in one line: `b permits*2 key=other owner=ada asked=5 20-60 until=90 killed #4` is a hold of client `b.1` from 20 to
 * 60 with token 4. Only the times and the token have to be there.
 */
function holdOf(text: string): [client: string, hold: StoryHold] {
  const [client, ...words] = text.split(' ');
  const details = words.map((word): Partial<StoryHold> => {
    const [name, value] = word.split(/[=*#-]/) as [string, string];
    if (word.startsWith('#')) return { token: Number(value) };
    if (/^\d/.test(word)) return { from: Number(name), to: Number(value) };
    if (name === 'read' || name === 'permits') return { mode: name, ...(value && { units: Number(value) }) };
    if (name === 'asked') return { askedAt: Number(value) };
    if (name === 'until' || name === 'replicas') return { [name]: Number(value) };
    if (name === 'released') return { end: { releasedAt: Number(value) } };
    if (name === 'lost') return { end: value === undefined ? name : { lostAt: Number(value) } };
    return name === 'killed' ? { end: name } : { [name]: value };
  });
  return [`${client}.1`, Object.assign({}, ...details) as StoryHold];
}

export function storyOf(...holds: string[]): ChaosStory {
  const story = new ChaosStory();
  for (const hold of holds) story.hold(...holdOf(hold));
  return story;
}

/** The rules that a history breaks. */
export const broken = (story: ChaosStory): string[] => check(story.events).violations.map(({ rule }) => rule);
