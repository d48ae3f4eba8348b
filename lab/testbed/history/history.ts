import { checkHolds } from '../../checker/check.mjs';

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

/**
 * Fails if holds break a rule of the checker: two callers held a key at the same time and did not both share it, or more
 * than `permits`; or the tokens of exclusive holders do not follow the order of their holds.
 */
export function assertNoViolation(holds: readonly ValidHold[], { permits }: { readonly permits?: number } = {}): void {
  const start = holds.reduce((first, { from }) => (from < first ? from : first), holds[0]?.from ?? 0n);
  const ms = (time: bigint): number => Number(time - start) / 1e6;
  const violations = checkHolds(
    holds.map(({ key, who, from, to, token, isShared }, i) => ({
      ...{ op: `${who} (${i + 1})`, key, token, from: ms(from), to: to === undefined ? Infinity : ms(to) },
      mode: permits !== undefined ? 'permits' : isShared ? 'read' : 'exclusive',
    })),
    { permits },
  );
  if (violations.length > 0) throw new Error(violations.map(({ rule, message }) => `${rule}: ${message}`).join('\n'));
}
