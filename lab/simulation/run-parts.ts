import type { Checker } from './checker/checker.js';
import type { Gates } from './checker/gates.js';
import type { Letters } from './clients/letters.js';
import type { Outcomes } from './clients/outcomes.js';
import type { Process } from './world/process.js';
import type { Server } from './world/server.js';
import type { Servers } from './world/servers.js';
import type { World } from './world/world.js';

/** What callers and faults use of a run. */
export interface RunParts {
  readonly world: World;
  readonly servers: Servers;
  readonly checker: Checker;
  readonly outcomes: Outcomes;
  readonly letters: Letters;
  readonly gates: Gates;
  readonly trace: (text: () => string) => void;
  /** Whether all callers have finished their work. */
  readonly isOver: boolean;
  /** The process at a place as it is now; `undefined`: there is none at the moment. */
  process(place: number): Process | undefined;
  /** A replica takes the place of a frozen server. The clients learn of it within so many ms. */
  replace(server: Server, within: number): void;
  /** Has a process come back, with another client, in `ms`. */
  reviveIn(place: number, ms: number): void;
}
