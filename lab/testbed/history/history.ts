/** A period in which a hold of a key was valid for its caller. */
export interface ValidHold {
  readonly key: string;
  /** The caller, for the report. */
  readonly who: string;
  /** When the caller had received the lock, by `now()`. */
  readonly from: bigint;
  /** When the caller learned of the loss or began to release the lock; `undefined`: it still holds it. */
  readonly to: bigint | undefined;
  readonly token?: number;
  /** Shared holds, such as the holds of readers, may overlap with each other. */
  readonly isShared?: boolean;
}

/** CLOCK_MONOTONIC in nanoseconds: one clock for all processes of this machine. */
export const now = (): bigint => process.hrtime.bigint();

/** Records which caller holds which key, and when. */
export class HoldHistory {
  private readonly records: Array<ValidHold & { to: bigint | undefined }> = [];

  get holds(): readonly ValidHold[] {
    return this.records;
  }

  /** A caller holds a key from now on, until the returned function is called. */
  begin(hold: Pick<ValidHold, 'key' | 'who' | 'token' | 'isShared'>): () => void {
    const record = { ...hold, from: now(), to: undefined as bigint | undefined };
    this.records.push(record);
    return () => {
      record.to ??= now();
    };
  }

  /** Adds holds that another process has recorded. */
  add(...holds: readonly ValidHold[]): void {
    this.records.push(...holds.map((hold) => ({ ...hold })));
  }
}

/** Fails if two callers held a key at the same time, unless both shared it. */
export function assertNoOverlap(holds: readonly ValidHold[]): void {
  for (const ofKey of byKey(holds).values()) {
    // A new hold is compared with the earlier hold that ends last.
    let exclusive: ValidHold | undefined;
    let shared: ValidHold | undefined;
    for (const hold of ofKey) {
      const other = overlap(exclusive, hold) ?? (hold.isShared ? undefined : overlap(shared, hold));
      if (other) throw new Error(`two callers held "${hold.key}" at the same time:\n${report([other, hold])}`);
      if (hold.isShared) shared = later(shared, hold);
      else exclusive = later(exclusive, hold);
    }
  }
}

/** Fails if more than `permits` callers held a key at the same time. */
export function assertAtMost(permits: number, holds: readonly ValidHold[]): void {
  for (const ofKey of byKey(holds).values()) {
    let active: ValidHold[] = [];
    for (const hold of ofKey) {
      active = active.filter(({ to }) => to === undefined || to > hold.from);
      active.push(hold);
      if (active.length > permits) {
        throw new Error(`${active.length} callers held "${hold.key}", at most ${permits} may:\n${report(active)}`);
      }
    }
  }
}

/** Fails if a later hold of a key has no larger token than an earlier one. */
export function assertTokensGrow(holds: readonly ValidHold[]): void {
  for (const ofKey of byKey(holds).values()) {
    let last: ValidHold | undefined;
    for (const hold of ofKey) {
      if (hold.token === undefined) throw new Error(`a hold without a token:\n${report([hold])}`);
      if (last?.token !== undefined && hold.token <= last.token) {
        throw new Error(`the tokens of "${hold.key}" do not grow:\n${report([last, hold])}`);
      }
      last = hold;
    }
  }
}

/** Per key, in the order of their beginnings. */
function byKey(holds: readonly ValidHold[]): Map<string, ValidHold[]> {
  const groups = new Map<string, ValidHold[]>();
  for (const hold of [...holds].sort((a, b) => (a.from < b.from ? -1 : a.from > b.from ? 1 : 0))) {
    const group = groups.get(hold.key);
    if (group) group.push(hold);
    else groups.set(hold.key, [hold]);
  }
  return groups;
}

function overlap(earlier: ValidHold | undefined, hold: ValidHold): ValidHold | undefined {
  return earlier && (earlier.to === undefined || earlier.to > hold.from) ? earlier : undefined;
}

function later(one: ValidHold | undefined, other: ValidHold): ValidHold {
  if (one === undefined || other.to === undefined) return other;
  return one.to === undefined || one.to > other.to ? one : other;
}

function report(holds: readonly ValidHold[]): string {
  const start = holds[0]?.from ?? 0n;
  const ms = (time: bigint): string => (Number(time - start) / 1e6).toFixed(3);
  return holds
    .map(({ who, from, to, token }) => {
      const end = to === undefined ? 'still' : `${ms(to)} ms`;
      return `  ${who}: ${ms(from)} ms to ${end}${token === undefined ? '' : `, token ${token}`}`;
    })
    .join('\n');
}
