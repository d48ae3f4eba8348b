import { TransientMap } from '../common/transient.js';
import type { LockMode } from '../store/lock-store.js';
import type { HoldTerms } from './hold.js';
import type { SharedHold } from './shared-hold.js';

/** The holds in the store that several callers of this client share, by id and by key. */
export class SharedHolds {
  private readonly byId = new TransientMap<string, SharedHold>();
  private readonly byKey = new TransientMap<string, Set<SharedHold>>();
  /** The latest one of each key: earlier ones end to admit callers before it. */
  private readonly latest = new TransientMap<string, SharedHold>();

  add(shared: SharedHold): void {
    this.byId.set(shared.id, shared);
    const ofKey = this.byKey.get(shared.key);
    if (ofKey === undefined) this.byKey.set(shared.key, new Set([shared]));
    else ofKey.add(shared);
    this.latest.set(shared.key, shared);
  }

  get(id: string): SharedHold | undefined {
    return this.byId.get(id);
  }

  has(id: string): boolean {
    return this.byId.has(id);
  }

  /** The one that a caller may share now, without a command. */
  openFor(terms: HoldTerms): SharedHold | undefined {
    const shared = this.latest.get(terms.key);
    return shared?.admits(terms) === true ? shared : undefined;
  }

  /** Those of a key serve no further caller. `except`: those of this kind do. */
  close(key: string, except?: LockMode['kind']): void {
    for (const shared of this.byKey.get(key) ?? []) if (shared.kind !== except) shared.close();
  }

  /** No caller shares it any more. */
  remove(id: string): void {
    const shared = this.byId.get(id);
    if (shared === undefined || !this.byId.delete(id)) return;
    const ofKey = this.byKey.get(shared.key);
    ofKey?.delete(shared);
    if (ofKey?.size === 0) this.byKey.delete(shared.key);
    if (this.latest.get(shared.key) === shared) this.latest.delete(shared.key);
  }
}
