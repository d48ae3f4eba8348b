import { KEYS } from '../schedule/schedule.js';
import type { Server } from '../world/server.js';
import type { Servers } from '../world/servers.js';
import { isBelieved, nameOf, type Belief } from './belief.js';
import type { Excuses } from './excuses.js';
import type { Exclusion } from './exclusion.js';
import { Violation } from './violation.js';

/** What is lost to rounding. */
const EPSILON = 1e-3;
/** After these scripts a key is not left free while somebody waits who could be granted. */
const SETTLING = /^(acquire|release|force-release|set-limit)\b/;

/**
 * What holders believe beside what the server knows. A belief that outlives its lease is found at once, by the clocks:
 * nobody else need come and take the key.
 */
export class Truth {
  constructor(
    private readonly servers: Servers,
    private readonly exclusion: Exclusion,
    private readonly excuses: Excuses,
  ) {}

  /** Every holder believes in what the server has, or a majority of the masters, and not for longer. */
  compare(): void {
    const { version } = this.servers;
    for (const key of KEYS) {
      for (const belief of this.exclusion.of(key)) {
        const { hold, compared } = belief;
        if (compared.version === version && compared.until === hold.validUntil) continue;
        belief.compared = { version, until: hold.validUntil };
        if (!isBelieved(belief)) continue;
        this.compareOne(belief);
      }
    }
  }

  /** A script has been executed. */
  executed(server: Server, key: string, script: string): void {
    if (key === '' || !SETTLING.test(script)) return;
    if (server.inspect(key).holds.length > 0) return;
    const waiting = server.grantable(key).find((id) => server.isPresent(id));
    if (waiting !== undefined) throw new Violation('free', `'${key}' is free while ${waiting} waits for it`);
  }

  private compareOne(belief: Belief): void {
    const { hold, process } = belief;
    const { key, id, token } = hold;
    const until = process.clock.worldTime(hold.validUntil);
    const late = until - this.excuses.endOf(key, id);
    if (late > EPSILON) {
      const what = late === Infinity ? 'which no server knows' : `${late.toFixed(3)} ms longer than its lease`;
      throw new Violation('validity', `${nameOf(belief)} considers '${key}' valid until ${until.toFixed(3)}, ${what}`);
    }
    if (!this.excuses.hadToken(key, token))
      throw new Violation('tokens', `${nameOf(belief)}: no holder was given this token`);
  }
}
