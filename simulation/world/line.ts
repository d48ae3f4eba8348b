import type { Random } from '../schedule/noise.js';
import type { Weather } from '../schedule/schedule.js';
import type { World } from './world.js';

/** One in so many messages takes longer. */
const SLOW = 0.05;
const SLOWER = 5;
/** ms that a message takes at least. */
const FASTEST = 0.05;

/**
 * A connection: messages that are sent on it arrive in order, and messages that are sent on another one may arrive
 * earlier.
 */
export class Line {
  isBroken = false;
  /** ms by which messages that were on their way when it broke arrive later; a restarted server does not get them. */
  lag = 0;
  private lastThere = 0;
  private lastBack = 0;

  constructor(
    private readonly world: World,
    private readonly random: Random,
    private readonly weather: Weather,
  ) {}

  /**
   * Has a message arrive at the server, or twice (`again`); answers whether it is on its way, and not lost. `isThere`:
   * whether the server still has this connection open.
   */
  there(arrive: (again: boolean) => void, isThere: () => boolean): boolean {
    const { random, weather, world } = this;
    const delay = this.delay();
    const lost = random() < weather.loss;
    const twice = random() < weather.duplicates;
    // A message that was sent before the line broke may or may not have reached the server.
    const late = random() < 0.5;
    if (lost) return false;
    this.lastThere = Math.max(world.now + delay, this.lastThere);
    const arriveLate = (again: boolean): void => {
      if (isThere()) arrive(again);
    };
    const arriveOnce = (again: boolean) => (): void => {
      if (!this.isBroken || (late && this.lag === 0)) arrive(again);
      else if (late) world.at(world.now + this.lag, () => arriveLate(again));
    };
    world.at(this.lastThere, arriveOnce(false));
    if (!twice) return true;
    this.lastThere += this.delay();
    world.at(this.lastThere, arriveOnce(true));
    return true;
  }

  /** Has a message arrive at the client, if the line stands by then; answers whether it is not lost. */
  back(loss: number, arrive: () => void): boolean {
    const delay = this.delay();
    if (this.random() < loss) return false;
    if (this.isBroken) return true;
    this.lastBack = Math.max(this.world.now + delay, this.lastBack);
    this.world.at(this.lastBack, () => {
      if (!this.isBroken) arrive();
    });
    return true;
  }

  /** ms */
  delay(): number {
    const { random, weather } = this;
    const slow = random() < SLOW ? SLOWER : 1;
    return FASTEST + random() * slow * weather.delay;
  }
}
