import type { Process } from '../world/process.js';
import type { Loss, Server } from '../world/server.js';
import type { World } from '../world/world.js';
import { Violation } from './violation.js';

/** ms for which a master refuses the vote of a hold whose lock was force-released there: a minute by any clock. */
const MEMORY = 59_000;

/** A vote that was ended by force is not taken again. */
export class Revocations {
  /** When holds were ended by force, by their ids. */
  private readonly ended = new Map<Server, Map<string, number>>();

  constructor(private readonly world: World) {}

  /** A server is about to lose holds: with all that it remembers, unless that is by force. */
  loses(server: Server, { holds, life, byForce }: Loss): void {
    const ended = life < Infinity ? undefined : this.ended.get(server);
    const added = byForce ? holds.map(({ id }) => [id, this.world.now] as const) : [];
    this.ended.set(server, new Map([...(ended ?? []), ...added]));
  }

  /** A hold has its vote again. */
  reinstated(server: Server, key: string, id: string): void {
    const ended = this.ended.get(server)?.get(id) ?? -Infinity;
    if (this.world.now - ended > MEMORY) return;
    throw new Violation('revoked', `${id} has its vote for '${key}' again on ${server.name}, which ended it by force`);
  }

  /** A process is about to ask for the vote of a hold. */
  wanted({ name, revoked }: Process, id: string): void {
    if (revoked.has(id))
      throw new Violation('revoked', `${name} requests a vote for ${id}, and knows that it was ended by force`);
  }
}
