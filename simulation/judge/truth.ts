import { KEYS } from '../schedule/schedule.js';
import type { Server } from '../world/server.js';
import type { Servers } from '../world/servers.js';
import { isBelieved, nameOf, type Belief } from './belief.js';
import type { Excuses } from './excuses.js';
import type { Exclusion } from './exclusion.js';
import { Violation } from './violation.js';

/** Tolerance for rounding errors. */
const EPSILON = 1e-3;
/** After these scripts no key stays free while a waiter could be granted it. */
const SETTLING = /^(acquire|release|force-release|set-limit)\b/;

/**
 * Compares the beliefs of holders with the state of the server. The clocks reveal a belief that outlives its lease at
 * once: no other caller has to come and take the key.
 */
export class Truth {
  constructor(
    private readonly servers: Servers,
    private readonly exclusion: Exclusion,
    private readonly excuses: Excuses,
  ) {}

  /** Every holder believes only in a hold that the server, or a majority of the masters, has, and not for longer. */
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
