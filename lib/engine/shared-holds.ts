import { TransientMap } from '../common/transient.js';
import type { HoldChoice, HoldMode } from '../store/lock-store.js';
import type { HoldTerms } from './hold.js';
import { wantsTheSame, type SharedHold } from './shared-hold.js';

/** The holds in the store that several callers of this client share, by id and by key. */
export class SharedHolds {
  private readonly byId = new TransientMap<string, SharedHold>();
  private readonly byKey = new TransientMap<string, Set<SharedHold>>();
  /** Shared holds that may serve further callers, by key. Some may be over. */
  private readonly open = new TransientMap<string, Set<SharedHold>>();
  /** The latest shared hold of each key. Earlier ones stop admitting callers before it does. */
  private readonly latest = new TransientMap<string, SharedHold>();

  add(shared: SharedHold): void {
    this.byId.set(shared.id, shared);
    addTo(this.byKey, shared);
    addTo(this.open, shared);
    this.latest.set(shared.key, shared);
  }

  get(id: string): SharedHold | undefined {
    return this.byId.get(id);
  }

  has(id: string): boolean {
    return this.byId.has(id);
  }

  /** The shared hold that a reader may join now, without a command. */
  openFor(terms: HoldTerms): SharedHold | undefined {
    const shared = this.latest.get(terms.key);
    return shared?.admits(terms) === true ? shared : undefined;
  }

  /** The shared holds of a key serve no further caller, except those for requests such as `except`. */
  close(key: string, except?: HoldMode): void {
    for (const shared of this.open.get(key) ?? []) {
      if (except === undefined || !wantsTheSame(shared.mode, except)) shared.close();
      // Requests must not get slower with the number of holds.
      if (shared.isOver) removeFrom(this.open, shared);
    }
  }

  /**
   * Ends the chosen holds of a key that share one in the store with others. Returns how many, and the ids of the holds that
   * the store has to end; `undefined`: all.
   */
  endSome(
    key: string,
    choice: HoldChoice,
  ): { readonly ended: number; readonly inStore: readonly string[] | undefined } {
    if (choice === undefined) return { ended: 0, inStore: undefined };
    const left = new Set(typeof choice === 'string' ? [choice] : choice);
    const inStore: string[] = [];
    let ended = 0;
    for (const shared of this.byKey.get(key) ?? []) {
      const { holds } = shared;
      const chosen = holds.filter(({ id }) => left.delete(id));
      // The id of the first caller is that of the hold in the store, which others have after it was released.
      left.delete(shared.id);
      const isAll = chosen.length === holds.length;
      if (isAll) inStore.push(shared.id);
      else for (const hold of chosen) hold.lose('forced');
      // The store counts the shared hold as one.
      ended += isAll ? chosen.length - 1 : chosen.length;
    }
    return { ended, inStore: [...inStore, ...left] };
  }

  /** No caller shares it any more. */
  remove(id: string): void {
    const shared = this.byId.get(id);
    if (shared === undefined || !this.byId.delete(id)) return;
    removeFrom(this.byKey, shared);
    removeFrom(this.open, shared);
    if (this.latest.get(shared.key) === shared) this.latest.delete(shared.key);
  }
}

type ByKey = TransientMap<string, Set<SharedHold>>;

function addTo(table: ByKey, shared: SharedHold): void {
  const ofKey = table.get(shared.key);
  if (ofKey === undefined) table.set(shared.key, new Set([shared]));
  else ofKey.add(shared);
}

function removeFrom(table: ByKey, shared: SharedHold): void {
  const ofKey = table.get(shared.key);
  ofKey?.delete(shared);
  if (ofKey?.size === 0) table.delete(shared.key);
}
