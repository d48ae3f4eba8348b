import type { Hold } from '../redis/stored-lock.js';
import type { ServerTerms } from '../schedule/schedule.js';
import { Machine } from './machine.js';
import { Server } from './server.js';
import type { World } from './world.js';

/** The servers of a world: a single one, or the masters of a quorum. A hold that a majority of them has is held. */
export class Servers {
  all: readonly Server[];
  /** How many of them are a majority. */
  readonly quorum: number;
  private readonly replaced: Server[] = [];

  constructor(terms: readonly ServerTerms[], world: World, noise: number, hasSmallLimits: boolean, isCluster: boolean) {
    this.all = terms.map(({ drift, ahead }, place) => {
      const name = terms.length === 1 ? 'server' : `master ${place + 1}`;
      const machine = new Machine(world, 1 + drift / 1_000, 0);
      return new Server(name, machine, ahead, noise + place, hasSmallLimits, isCluster);
    });
    this.quorum = Math.floor(terms.length / 2) + 1;
  }

  /** Its replica takes the place of a frozen server. */
  replace(server: Server, ms: number): Server {
    const successor = server.replace(`server ${server.life + 2}`, ms);
    this.replaced.push(server);
    this.all = this.all.map((each) => (each === server ? successor : each));
    return successor;
  }

  get isQuorum(): boolean {
    return this.all.length > 1;
  }

  /** Grows with each script that one of the servers has executed. */
  get version(): number {
    return this.all.reduce((sum, { version }) => sum + version, 0);
  }

  /** The holds of a key that a majority has. */
  held(key: string): Hold[] {
    const votes = new Map<string, Hold[]>();
    for (const server of this.all) {
      for (const hold of server.inspect(key).holds) votes.set(hold.id, [...(votes.get(hold.id) ?? []), hold]);
    }
    return [...votes.values()].filter((each) => each.length >= this.quorum).map(([hold]) => hold!);
  }

  /** For each server that has a vote of a hold, the world's time when that vote ends. */
  votes(key: string, id: string): Map<Server, number> {
    const votes = new Map<Server, number>();
    for (const server of this.all) {
      const hold = server.inspect(key).holds.find((each) => each.id === id);
      if (hold !== undefined) votes.set(server, server.endOf(hold));
    }
    return votes;
  }

  /** How many ms their clocks are apart. */
  get spread(): number {
    const times = this.all.map(({ time }) => time);
    return Math.max(...times) - Math.min(...times);
  }

  /** The run is over. */
  close(): void {
    for (const server of [...this.all, ...this.replaced]) server.close();
  }
}
