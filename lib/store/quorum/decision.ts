import type { LockStoreError } from '../../errors/index.js';
import type { AcquireRequest, ContendedReply } from '../lock-store.js';
import { graceAfter, minorityError, type QuorumContext } from './round.js';
import type { MemberState } from './votes.js';

/** `impossible`: so many masters fail or refuse that there can be no majority, whatever other clients do. */
export type QuorumDecision = 'held' | 'impossible' | 'contended';

export const heldAt = (states: readonly MemberState[], now: number): MemberState[] =>
  states.filter((state) => state.holdsAt(now));

/** How many masters have a known state. */
export const answeredAt = (states: readonly MemberState[], now: number): number =>
  states.filter((state) => state.isAnswered || state.holdsAt(now)).length;

/**
 * The decision that follows from the replies so far; `undefined`: it depends on pending replies. With `last` set, these
 * are not awaited.
 */
export function decisionOf(
  states: readonly MemberState[],
  quorum: number,
  now: number,
  last: boolean,
): QuorumDecision | undefined {
  const held = heldAt(states, now).length;
  if (held >= quorum) return 'held';
  const open = last ? 0 : states.filter((state) => state.isOpen && !state.holdsAt(now)).length;
  if (held + open >= quorum) return undefined;
  return states.filter((state) => state.isExcluded).length > states.length - quorum ? 'impossible' : 'contended';
}

/** Whether other clients have so many votes that this acquisition cannot get a majority. */
export function hasRival(states: readonly MemberState[], quorum: number, { id, mode }: AcquireRequest): boolean {
  const votes = new Map<string, number>();
  for (const { isOpen, holders } of states) {
    if (isOpen) continue;
    for (const holder of holders) votes.set(holder, (votes.get(holder) ?? 0) + 1);
  }
  votes.delete(id);
  const rivals = [...votes.values()].filter((count) => count >= quorum).length;
  return rivals >= (mode.kind === 'permits' ? mode.limit - mode.units + 1 : 1);
}

/** The known holders of the votes that this acquisition lacks. */
export const othersIn = (states: readonly MemberState[]): string =>
  states
    .flatMap(({ holders }) => holders)
    .sort()
    .join(' ');

/** The refusal of so many masters that there can be no majority, if its reason lies in the request. */
export function refusalOf(states: readonly MemberState[], quorum: number): 'upgrade' | 'left' | undefined {
  const most = states.length - quorum;
  const excluded = states.filter(({ isExcluded }) => isExcluded);
  return (['upgrade', 'left'] as const).find(
    (outcome) => excluded.filter(({ standing }) => standing === outcome).length > most,
  );
}

/** Returns an error that says how many masters answered, and why the others did not. */
export function minorityOf(states: readonly MemberState[], now: number, quorum: number, key: string): LockStoreError {
  const errors = states.flatMap(({ isExcluded, standing, error }) =>
    isExcluded && standing === 'failed' && error !== undefined ? [error] : [],
  );
  return minorityError(states.length, answeredAt(states, now), errors, quorum, key);
}

/** Waits for the votes of one acquisition. `wake` is called whenever a vote may have changed. */
export class VoteWaiting {
  private waking: (() => void) | undefined;

  constructor(
    private readonly states: readonly MemberState[],
    private readonly context: QuorumContext,
    /** `false` once the acquisition has ended. */
    private readonly isWanted: () => boolean,
  ) {}

  wake(): void {
    this.waking?.();
  }

  /** Waits for the decision of this round. `over`: the acquisition has ended. */
  async decision(): Promise<QuorumDecision | 'over'> {
    const { clock, quorum } = this.context;
    const since = clock.now();
    let patience = Infinity;
    while (this.isWanted()) {
      const now = clock.now();
      const decision = decisionOf(this.states, quorum, now, now >= patience);
      if (decision !== undefined) return decision;
      if (patience === Infinity && answeredAt(this.states, now) >= quorum) {
        patience = now + graceAfter(now - since);
      }
      await this.wokenBy(patience);
    }
    return 'over';
  }

  /** Resolves when a majority holds the lock, or after `ms`. */
  async majorityWithin(ms: number): Promise<void> {
    const { clock, quorum } = this.context;
    const end = clock.now() + ms;
    while (this.isWanted() && heldAt(this.states, clock.now()).length < quorum && clock.now() < end) {
      await this.wokenBy(end);
    }
  }

  /** Resolves with the next `wake`, or at `time`. */
  private wokenBy(time: number): Promise<void> {
    const { clock } = this.context;
    return new Promise((resolve) => {
      const timer =
        time === Infinity ? undefined : clock.setTimer(Math.max(1, Math.ceil(time - clock.now())), () => this.wake());
      this.waking = () => {
        clock.clearTimer(timer);
        this.waking = undefined;
        resolve();
      };
    });
  }
}

/** If no master says when to retry, the waiter retries after this many ms, up to twice as many. */
const RETRY = 50;

interface Terms {
  readonly waits: boolean;
  readonly now: number;
  /** If no acquisition has a majority: in how many ms to retry at the latest. */
  readonly splitFor: number | undefined;
  readonly random: () => number;
}

/** The reply to a request that has no majority, made of the masters' replies. */
export function contendedReply(
  states: readonly MemberState[],
  { waits, now, splitFor, random }: Terms,
): ContendedReply {
  // A master with a pending request is asked already, so its time for a retry does not count.
  const next = Math.min(...states.filter(({ isOpen }) => !isOpen).map(({ retryAt }) => retryAt));
  const retryAfter = Math.min(next - now, splitFor ?? Infinity);
  return {
    outcome: waits ? 'queued' : 'busy',
    time: now,
    retryAfter: Math.max(2, Number.isFinite(retryAfter) ? retryAfter : RETRY * (1 + random())),
    lastToken: Math.max(...states.map(({ lastToken }) => lastToken)),
    isSplit: splitFor !== undefined,
    holders: [...new Set(states.flatMap(({ holders }) => holders))],
  };
}
