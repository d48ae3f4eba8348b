import type { Hold } from '../../lib/engine/hold.js';
import { TIMES, type Schedule } from '../schedule/schedule.js';
import type { Process } from '../world/process.js';
import type { Server } from '../world/server.js';
import type { World } from '../world/world.js';
import type { Belief } from './belief.js';
import { ElectionRules } from './elections.js';
import { Exclusion } from './exclusion.js';
import { Excuses } from './excuses.js';
import { nothingRuns } from './leftovers.js';
import { Tokens } from './tokens.js';
import { Truth } from './truth.js';
import { Violation } from './violation.js';
import { WaitingRule } from './waiting.js';

/** ms that pass between two looks at a clock. */
const ROUNDING = 0.01;

/** Goes over a run while it happens. What it finds first is what the run came to. */
export class Judge {
  readonly excuses = new Excuses();
  readonly exclusion = new Exclusion(this.excuses);
  readonly tokens = new Tokens();
  readonly elections: ElectionRules;
  readonly waiting: WaitingRule;
  violation: Error | undefined;
  /** Nothing is lost on the way, and nobody is disturbed: nothing but what callers want themselves can go wrong. */
  readonly isCalm: boolean;
  private readonly truth: Truth;
  private disturbedUntil = 0;
  /** When the first of those who have it in turn got it. */
  private readonly turnsSince = new Map<string, number>();
  private readonly firstAsked = new Map<string, number>();

  constructor(
    private readonly world: World,
    server: Server,
    private readonly schedule: Schedule,
  ) {
    const { weather, faults, visits } = schedule;
    const { loss, pushLoss, duplicates, refusals, delay } = weather;
    const isQuiet = loss + pushLoss + duplicates + refusals === 0;
    const someForget = visits.some(({ act }) => act === 'abandon');
    this.isCalm = isQuiet && faults.length === 0 && !someForget;
    this.elections = new ElectionRules(this.excuses, this.isCalm);
    this.truth = new Truth(server, this.exclusion, this.excuses);
    const { commandTimeout, grantTimeout, lease } = TIMES;
    const slow = 3 * commandTimeout + 2 * grantTimeout;
    const service = {
      // Whoever waits asks again: when a lease or a holdAtLeast has ended, or where a message was lost.
      free: isQuiet ? lease / 3 + 30 * delay : slow,
      left: isQuiet ? 30 * delay : slow,
      // A hold that nobody releases ends with its lease, which may be longer than its client knew.
      granted: isQuiet && !someForget ? 30 * delay : slow,
    };
    this.waiting = new WaitingRule(
      world,
      server,
      () => this.disturbedUntil,
      service,
      (found) => this.found(found),
    );
    server.onScript = (key, script) => {
      if (script.startsWith('force-release')) this.excuses.broke(world.now, key);
      this.check(() => this.truth.executed(key, script));
    };
  }

  /** After each step. */
  look(): void {
    this.check(() => this.truth.compare());
  }

  /** For so many ms from now on, and as long as it takes to find that out, nobody need be served. */
  disturbed(ms: number): void {
    const { commandTimeout, lease } = TIMES;
    this.disturbedUntil = Math.max(this.disturbedUntil, this.world.now + ms + 2 * commandTimeout + lease);
  }

  /** Somebody has been told that it holds a key. */
  told(hold: Hold, process: Process, asked: number, floor: number): Belief {
    const first = Math.min(asked, this.firstAsked.get(hold.id) ?? Infinity);
    this.firstAsked.set(hold.id, first);
    const belief: Belief = { hold, process, asked: first, compared: { version: -1, until: 0 } };
    if (!hold.isHeld) return belief;
    this.check(() => {
      if (hold.token !== hold.firstToken && hold.acquiredAt > (process.yielded.get(hold.id) ?? Infinity)) {
        throw new Violation('yield', `${process.name} has '${hold.key}' in turn after it was told to yield`);
      }
      this.timeTurns(hold, process);
      this.tokens.tell(belief, floor, this.excuses.excuse(belief));
      this.exclusion.begins(belief);
    });
    return belief;
  }

  /** No turn begins after the time for turns. That there are no more than were granted shows in their tokens. */
  private timeTurns({ id, key, firstToken, acquiredAt }: Hold, process: Process): void {
    const grant = `${id} ${firstToken}`;
    const since = this.turnsSince.get(grant) ?? acquiredAt;
    this.turnsSince.set(grant, since);
    const ms = acquiredAt - since;
    if (ms <= this.schedule.turns.time + ROUNDING) return;
    throw new Violation('turns', `${process.name} has '${key}' in turn ${ms} ms after the first one`);
  }

  died(process: Process): void {
    this.exclusion.forget((belief) => belief.process === process);
    this.elections.forget((belief) => belief.process === process);
    this.waiting.forget(process);
  }

  /** Its engine has been closed. */
  closed(process: Process): void {
    this.check(() => nothingRuns(process));
    this.exclusion.forget((belief) => belief.process === process);
    this.elections.forget((belief) => belief.process === process);
  }

  check(rule: () => void): void {
    try {
      rule();
    } catch (error) {
      this.found(error as Error);
    }
  }

  found(error: Error): void {
    this.violation ??= error;
  }
}
