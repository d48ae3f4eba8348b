import type { Loss, Server } from '../world/server.js';
import type { ServerLife } from '../world/quorum.js';
import type { Servers } from '../world/servers.js';
import type { ObservedHold } from './observed-hold.js';

/** The vote of a server for a hold at the moment the server lost it. */
interface LostVote {
  readonly server: Server;
  /** The world's time when it would have ended. */
  readonly end: number;
  /** The first life of the server whose replies show the loss. */
  readonly life: number;
}

/**
 * The state that servers have lost although the docs assume that they keep it: by a forced release, lost data, or a
 * failover to a replica that missed the last writes. This explains why the holder of such a lock considers it valid
 * until its lease would have ended, or until a reply reports the state.
 */
export class BrokenAssumptions {
  private readonly breaks: Array<{ readonly at: number; readonly key: string | undefined }> = [];
  /** By the id of the hold. */
  private readonly lost = new Map<string, LostVote[]>();
  private readonly lostTokens = new Map<Server, Map<string, number>>();
  /** Keys whose last tokens were lost by so many masters that a majority does not remember them. */
  private readonly forgotten = new Set<string>();

  constructor(
    private readonly servers: Servers,
    private readonly now: () => number,
  ) {}

  /** An assumption of the docs was broken, for one key or for all. */
  broke(at: number, key: string | undefined): void {
    this.breaks.push({ at, key });
  }

  /** A server is about to lose some state of a key; `largest`: the largest token that any caller has received. */
  loses(server: Server, { key, holds, lastToken, life }: Loss, largest: number): void {
    for (const hold of holds) {
      const votes = this.lost.get(hold.id)?.filter((vote) => vote.end > this.now()) ?? [];
      this.lost.set(hold.id, [...votes, { server, end: server.endOf(hold), life }]);
    }
    if (lastToken === 0) return;
    const tokens = this.lostTokens.get(server) ?? new Map<string, number>();
    this.lostTokens.set(server, tokens.set(key, Math.max(lastToken, tokens.get(key) ?? 0)));
    const { all, quorum, isQuorum } = this.servers;
    const remember = all.filter((each) => each !== server && each.inspect(key).lastToken >= largest).length;
    if (isQuorum && remember <= all.length - quorum) this.forgotten.add(key);
  }

  /** A client received a reply about a grant. It sent the request when it knew these lives of the servers. */
  answered(id: string, known: readonly ServerLife[]): void {
    const votes = this.lost.get(id);
    if (votes === undefined) return;
    const isKnown = (vote: LostVote): boolean =>
      known.some(({ server, life }) => server === vote.server && life >= vote.life);
    const unknown = votes.filter((vote) => !isKnown(vote));
    this.lost.set(id, unknown);
  }

  /**
   * The world's time until which a hold may count as valid, from the votes that a majority has or had when it lost them.
   */
  endOf(key: string, id: string): number {
    const ends = this.servers.votes(key, id);
    for (const { server, end } of this.lost.get(id) ?? []) ends.set(server, Math.max(end, ends.get(server) ?? 0));
    return [...ends.values()].sort((a, b) => b - a)[this.servers.quorum - 1] ?? -Infinity;
  }

  /** Whether a majority has a token of a key, or had it when it lost it. */
  hadToken(key: string, token: number): boolean {
    const { all, quorum } = this.servers;
    const lost = (server: Server | undefined): boolean =>
      server !== undefined && ((this.lostTokens.get(server)?.get(key) ?? 0) >= token || lost(server.predecessor));
    const had = (server: Server): boolean => server.inspect(key).lastToken >= token || lost(server);
    return all.filter(had).length >= quorum;
  }

  /**
   * Whether a token may be smaller than an earlier one: no majority remembers the earlier one, and a clock that runs
   * behind those of the other masters decides.
   */
  mayFall(key: string, token: number, last: number): boolean {
    return this.forgotten.has(key) && last - token < 1_000 * (this.servers.spread + 1);
  }

  /** Whether one of these holds depends on lost votes, and the remaining votes are no majority. */
  explain(...observed: readonly ObservedHold[]): boolean {
    return observed.some(({ hold: { key, grant } }) => {
      const lost = this.lost.get(grant.id)?.some(({ end }) => end > this.now()) === true;
      return lost && this.servers.votes(key, grant.id).size < this.servers.quorum;
    });
  }

  /** Whether an assumption about a key was broken at this time or later. */
  since(time: number, key: string): boolean {
    return this.breaks.some((each) => each.at >= time && (each.key === undefined || each.key === key));
  }
}
