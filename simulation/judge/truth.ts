import type { StoredLock } from '../../lib/store/lock-store.js';
import { KEYS } from '../schedule/schedule.js';
import type { Server } from '../world/server.js';
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
    private readonly server: Server,
    private readonly exclusion: Exclusion,
    private readonly excuses: Excuses,
  ) {}

  /** Every holder believes in what the server has, and not for longer. */
  compare(): void {
    const { version } = this.server;
    for (const key of KEYS) {
      let stored: StoredLock | undefined;
      for (const belief of this.exclusion.of(key)) {
        const { hold, compared } = belief;
        if (compared.version === version && compared.until === hold.validUntil) continue;
        belief.compared = { version, until: hold.validUntil };
        if (!isBelieved(belief)) continue;
        stored ??= this.server.inspect(key);
        this.compareOne(belief, stored);
      }
    }
  }

  /** A script has been executed. */
  executed(key: string, script: string): void {
    if (key === '' || !SETTLING.test(script)) return;
    const { holds, waiters } = this.server.inspect(key);
    const waiting = holds.length === 0 ? waiters.find(({ id }) => this.server.isPresent(id)) : undefined;
    if (waiting !== undefined) throw new Violation('free', `${waiting.id} waits for '${key}', which is free`);
  }

  private compareOne(belief: Belief, { holds, lastToken }: StoredLock): void {
    const { hold, process } = belief;
    const stored = holds.find(({ id }) => id === hold.id);
    if (this.excuses.excuse(belief)) return;
    if (hold.token > lastToken) throw new Violation('tokens', `${nameOf(belief)}: the server has given no such token`);
    const until = process.clock.worldTime(hold.validUntil);
    const late = stored === undefined ? Infinity : until - this.server.endOf(stored.ttl);
    if (late <= EPSILON) return;
    const what =
      stored === undefined ? 'which the server does not know' : `${late.toFixed(3)} ms longer than its lease`;
    throw new Violation('belief', `${nameOf(belief)} believes in '${hold.key}' until ${until.toFixed(3)}, ${what}`);
  }
}
