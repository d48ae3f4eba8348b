import type { Random } from '../schedule/noise.js';
import type { Weather } from '../schedule/schedule.js';
import type { World } from './world.js';

/** One in so many messages takes longer. */
const SLOW = 0.05;
const SLOWER = 5;
/** ms that a message takes at least. */
const FASTEST = 0.05;

/** A connection. Its messages arrive in order, but messages on another link may overtake them. */
export class Link {
  isBroken = false;
  /** ms by which messages that were under way when the link broke are late. A restarted server never gets them. */
  lag = 0;
  private lastThere = 0;
  private lastBack = 0;

  constructor(
    private readonly world: World,
    private readonly random: Random,
    private readonly weather: Weather,
  ) {}

  /**
   * Sends a message to the server, where it arrives once or twice (`again`). Returns `false` if it is lost. `isThere`:
   * whether the server still has this connection open.
   */
  there(arrive: (again: boolean) => void, isThere: () => boolean): boolean {
    const { random, weather, world } = this;
    const delay = this.delay();
    const lost = random() < weather.loss;
    const twice = random() < weather.duplicates;
    // A message that was sent before the link broke may or may not have reached the server.
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

  /** Sends a message to the client. It arrives only if the link is intact by then. Returns `false` if it is lost. */
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
