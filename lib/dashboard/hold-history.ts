import type { LockEvent } from '../engine/lock-event.js';
import type { DashboardCall, DashboardHold } from './dashboard-state.js';

/** How many keys are remembered, and how many holds of each key. */
const MOST_KEYS = 200;
const HOLDS = 10;
/** How many holds are shown: of all keys, and if the viewer filters them. */
const SHOWN = 8;
const SHOWN_OF_FILTERED = 20;

type Acquired = Extract<LockEvent, { type: 'acquired' }>;
type Ended = Extract<LockEvent, { type: 'released' | 'unreleased' | 'lost' }>;

/** One hold: the event of its beginning, which may have come before the history began, and the event of its end. */
interface Hold {
  /** When it was acquired, by the clock of this process. */
  readonly at: number;
  readonly began: Acquired | undefined;
  ended: Ended | undefined;
}

/** The last holds of each key by this process, in a bounded amount of memory: the keys acquired last. */
export class HoldHistory {
  /** By key, in the order of the last acquisition. The oldest hold of a key comes first. */
  private readonly keys = new Map<string, Hold[]>();

  /** `at`: the time, by the clock of this process. */
  began(event: Acquired, at: number): void {
    this.add(event.key, { at, began: event, ended: undefined });
  }

  ended(event: Ended, at: number): void {
    const hold = this.keys.get(event.key)?.findLast(({ began, ended }) => ended === undefined && isSame(began, event));
    if (hold === undefined) this.add(event.key, { at: at - event.held, began: undefined, ended: event });
    else hold.ended = event;
  }

  /** The last holds in whose description all words occur, the newest first. */
  read(words: readonly string[]): DashboardHold[] {
    const newest = [...this.keys.values()].flat().reverse();
    newest.sort((a, b) => b.at - a.at);
    const most = words.length === 0 ? SHOWN : SHOWN_OF_FILTERED;
    const found: DashboardHold[] = [];
    for (const each of newest) {
      const hold = describe(each);
      if (isMatch(hold, words) && found.push(hold) === most) break;
    }
    return found;
  }

  private add(key: string, hold: Hold): void {
    const holds = this.keys.get(key) ?? [];
    if (holds.push(hold) > HOLDS) holds.shift();
    this.keys.delete(key);
    this.keys.set(key, holds);
    if (this.keys.size > MOST_KEYS) this.keys.delete(this.keys.keys().next().value!);
  }
}

/** Some stores give no tokens. */
const isSame = (began: Acquired | undefined, { fencingToken, owner }: Ended): boolean =>
  began?.fencingToken === fencingToken && began.owner === owner;

/** The owner of an acquisition that names none: the id of its client, and a number. */
const ACQUISITION = /^[0-9a-f]{32}:/;

/** What the page shows of the call that an event is about. */
export function callOf({ key, owner, kind, pattern, method, label }: LockEvent): Omit<DashboardCall, 'at' | 'reason'> {
  const name = owner === undefined || ACQUISITION.test(owner) ? label : owner;
  return { key, name, kind, pattern, method, label };
}

function describe({ at, began, ended }: Hold): DashboardHold {
  return {
    ...{ at, ...callOf((began ?? ended)!) },
    waited: began?.waited,
    previousHolder: began?.previousHolder,
    held: ended?.held,
    end: ended?.type,
    reason: ended !== undefined && 'reason' in ended ? ended.reason : undefined,
  };
}

function isMatch(hold: DashboardHold, words: readonly string[]): boolean {
  const { key, name, kind, pattern, method, label, end } = hold;
  const text = [key, name, kind, pattern, method, label, end].join('\n').toLowerCase();
  return words.every((word) => text.includes(word));
}
