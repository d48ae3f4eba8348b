import { KEYS } from '../schedule/schedule.js';
import type { Servers } from '../world/servers.js';
import { isValid, nameOf, type ObservedHold } from './observed-hold.js';
import type { BrokenAssumptions } from './broken-assumptions.js';
import type { Exclusion } from './exclusion.js';
import { Violation } from './violation.js';

/** Tolerance for rounding errors. */
const EPSILON = 1e-3;

/**
 * Compares the holds that clients consider valid with the state of the servers. So a hold that counts as valid after its
 * lease is found at once, even if no other caller acquires the key.
 */
export class Truth {
  constructor(
    private readonly servers: Servers,
    private readonly exclusion: Exclusion,
    private readonly assumptions: BrokenAssumptions,
  ) {}

  /** A hold is valid only if the server, or a majority of the masters, has it, and no longer than there. */
  compare(): void {
    const { version } = this.servers;
    for (const key of KEYS) {
      for (const observed of this.exclusion.of(key)) {
        const { hold, compared } = observed;
        if (compared.version === version && compared.until === hold.validUntil) continue;
        observed.compared = { version, until: hold.validUntil };
        if (!isValid(observed)) continue;
        this.compareOne(observed);
      }
    }
  }

  private compareOne(observed: ObservedHold): void {
    const { hold, process } = observed;
    const { key, token } = hold;
    const { id } = hold.grant;
    const until = process.clock.worldTime(hold.validUntil);
    const late = until - this.assumptions.endOf(key, id);
    if (late > EPSILON) {
      const what = late === Infinity ? 'which no server knows' : `${late.toFixed(3)} ms longer than its lease`;
      const validity = `considers '${key}' valid until ${until.toFixed(3)}, ${what}`;
      throw new Violation('validity', `${nameOf(observed)} ${validity}`);
    }
    if (!this.assumptions.hadToken(key, token))
      throw new Violation('tokens', `${nameOf(observed)}: no holder was given this token`);
  }
}
