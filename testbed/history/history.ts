/** One stretch of time in which a caller believed that it held a key. */
export interface BelievedHold {
  readonly key: string;
  /** The caller that believed, for the report. */
  readonly who: string;
  /** When it had been told that it holds the key, by `now()`. */
  readonly from: bigint;
  /** When it learned of the loss, or began to release it; `undefined`: it still believes. */
  readonly to: bigint | undefined;
  readonly token?: number;
  /** Shared holds, such as the holds of readers, may overlap with each other. */
  readonly isShared?: boolean;
}

/** CLOCK_MONOTONIC in nanoseconds: one clock for all processes of this machine. */
export const now = (): bigint => process.hrtime.bigint();

/** Notes down which caller believes in which hold, and when. */
export class HoldHistory {
  private readonly records: Array<BelievedHold & { to: bigint | undefined }> = [];

  get holds(): readonly BelievedHold[] {
    return this.records;
  }

  /** A caller holds a key from now on, until the returned function is called. */
  begin(hold: Pick<BelievedHold, 'key' | 'who' | 'token' | 'isShared'>): () => void {
    const record = { ...hold, from: now(), to: undefined as bigint | undefined };
    this.records.push(record);
    return () => {
      record.to ??= now();
    };
  }

  /** Adds holds that another process has noted down. */
  add(...holds: readonly BelievedHold[]): void {
    this.records.push(...holds.map((hold) => ({ ...hold })));
  }
}

/** Fails when two believed to hold one key at the same time, unless both shared it. */
export function assertNoOverlap(holds: readonly BelievedHold[]): void {
  for (const ofKey of byKey(holds).values()) {
    // Of the earlier holds, the one that ends last is the one to collide with.
    let exclusive: BelievedHold | undefined;
    let shared: BelievedHold | undefined;
    for (const hold of ofKey) {
      const other = overlap(exclusive, hold) ?? (hold.isShared ? undefined : overlap(shared, hold));
      if (other) throw new Error(`two believed to hold "${hold.key}" at the same time:\n${report([other, hold])}`);
      if (hold.isShared) shared = later(shared, hold);
      else exclusive = later(exclusive, hold);
    }
  }
}

/** Fails when more than `permits` believed to hold one key at the same time. */
export function assertAtMost(permits: number, holds: readonly BelievedHold[]): void {
  for (const ofKey of byKey(holds).values()) {
    let active: BelievedHold[] = [];
    for (const hold of ofKey) {
      active = active.filter(({ to }) => to === undefined || to > hold.from);
      active.push(hold);
      if (active.length > permits) {
        throw new Error(`${active.length} believed to hold "${hold.key}", at most ${permits} may:\n${report(active)}`);
      }
    }
  }
}

/** Fails if a later hold of a key has no larger token than an earlier one. */
export function assertTokensGrow(holds: readonly BelievedHold[]): void {
  for (const ofKey of byKey(holds).values()) {
    let last: BelievedHold | undefined;
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
function byKey(holds: readonly BelievedHold[]): Map<string, BelievedHold[]> {
  const groups = new Map<string, BelievedHold[]>();
  for (const hold of [...holds].sort((a, b) => (a.from < b.from ? -1 : a.from > b.from ? 1 : 0))) {
    const group = groups.get(hold.key);
    if (group) group.push(hold);
    else groups.set(hold.key, [hold]);
  }
  return groups;
}

function overlap(earlier: BelievedHold | undefined, hold: BelievedHold): BelievedHold | undefined {
  return earlier && (earlier.to === undefined || earlier.to > hold.from) ? earlier : undefined;
}

function later(one: BelievedHold | undefined, other: BelievedHold): BelievedHold {
  if (one === undefined || other.to === undefined) return other;
  return one.to === undefined || one.to > other.to ? one : other;
}

function report(holds: readonly BelievedHold[]): string {
  const start = holds[0]?.from ?? 0n;
  const ms = (time: bigint): string => (Number(time - start) / 1e6).toFixed(3);
  return holds
    .map(({ who, from, to, token }) => {
      const end = to === undefined ? 'still' : `${ms(to)} ms`;
      return `  ${who}: ${ms(from)} ms to ${end}${token === undefined ? '' : `, token ${token}`}`;
    })
    .join('\n');
}
