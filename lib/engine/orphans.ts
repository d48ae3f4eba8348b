import type { EngineContext } from './engine-context.js';
import type { Releases } from './releases.js';

/** Knows acquisitions by their ids. */
export interface IdTable {
  has(id: string): boolean;
}

/**
 * Releases orphans: what the store holds for an acquisition of this client that this client does not know any more, such
 * as a grant that crossed a leave.
 */
export class Orphans {
  constructor(
    private readonly context: EngineContext,
    private readonly releases: Releases,
    /** Is called with a key that another client holds. */
    private readonly heldElsewhere: (key: string) => void,
    /** Where acquisitions that are no orphans stand. */
    private readonly tables: readonly IdTable[],
  ) {}

  /** Releases those of `ids` that are orphans. A release that is under way goes first. */
  release(key: string, ids: readonly string[]): void {
    for (const id of ids) {
      if (!this.isOrphan(id)) continue;
      // In a Cluster a leave may overtake a release that was sent before it, and that release would find nothing.
      const release = this.releases.ofHold(id);
      const again = (): void => this.release(key, [id]);
      if (release === undefined) void this.releases.releaseOrphan(key, id);
      else release.then(again, again);
    }
  }

  /**
   * The same for ids that a reply names as holders. The reply may be older than a release that is under way. Resolves
   * when all these releases have their replies; `undefined`: this client releases none of the holders.
   */
  releaseHolders(key: string, holders: readonly string[]): Promise<unknown> | undefined {
    // Another client holds the key. So no grant to this one is valid, for example after its data was deleted.
    if (!holders.every((id) => this.isOwn(id))) this.heldElsewhere(key);
    const ended = holders
      .filter((id) => this.isOrphan(id))
      .map((id) => this.releases.ofHold(id)?.catch(() => undefined) ?? this.releases.releaseOrphan(key, id));
    return ended.length === 0 ? undefined : Promise.all(ended);
  }

  private isOrphan(id: string): boolean {
    return this.isOwn(id) && !this.tables.some((table) => table.has(id));
  }

  private isOwn(id: string): boolean {
    return id.startsWith(`${this.context.store.clientId}:`);
  }
}
