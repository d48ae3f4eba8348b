import type { Hold } from '../../../lib/engine/hold.js';
import { TIMES, type Schedule } from '../schedule/schedule.js';
import type { Process } from '../world/process.js';
import type { Loss, Server } from '../world/server.js';
import type { Servers } from '../world/servers.js';
import type { World } from '../world/world.js';
import type { ObservedHold } from './observed-hold.js';
import { ElectionRules } from './elections.js';
import { Grants } from './grants.js';
import { Exclusion } from './exclusion.js';
import { BrokenAssumptions } from './broken-assumptions.js';
import { nothingRuns } from './leftovers.js';
import { Revocations } from './revocations.js';
import { Tokens } from './tokens.js';
import { TriesRule } from './tries.js';
import { Truth } from './truth.js';
import { Violation } from './violation.js';
import { WaitingRule } from './waiting.js';

/** ms for which votes may be split: the pauses until one candidate wins, and one pause before the next attempt. */
const SPLIT = 1_500;
/** ms that pass between two readings of a clock. */
const ROUNDING = 0.01;

/** Checks a run at each step. The first violation is the result of the run. */
export class Checker {
  readonly assumptions: BrokenAssumptions;
  readonly exclusion: Exclusion;
  readonly tokens: Tokens;
  readonly tries: TriesRule;
  readonly revocations: Revocations;
  readonly elections: ElectionRules;
  readonly waiting: WaitingRule;
  violation: Error | undefined;
  /**
   * No message is lost on the way, and no process is disturbed: only the actions that callers request themselves can
   * cause a failure.
   */
  readonly isCalm: boolean;
  private readonly truth: Truth;
  private readonly grants: Grants;
  private disturbedUntil = 0;
  /** When the first member of each batch was served, by grant. */
  private readonly turnsSince = new Map<string, number>();

  constructor(
    private readonly world: World,
    servers: Servers,
    private readonly schedule: Schedule,
  ) {
    const { faults, visits } = schedule;
    const weathers = schedule.servers.map(({ weather }) => weather);
    const isQuiet = weathers.every(
      ({ loss, pushLoss, duplicates, refusals }) => loss + pushLoss + duplicates + refusals === 0,
    );
    const delay = Math.max(...weathers.map((weather) => weather.delay));
    const someForget = visits.some(({ act }) => act === 'abandon');
    this.isCalm = isQuiet && faults.length === 0 && !someForget;
    const fail = (violation: Violation): void => this.found(violation);
    this.assumptions = new BrokenAssumptions(servers, () => world.now);
    this.exclusion = new Exclusion(this.assumptions);
    this.tokens = new Tokens(this.assumptions);
    // An acquisition of several keys reports none of them to the caller before it has all of them.
    const someTakeSets = visits.some(({ keys }) => keys.length > 1);
    this.tries = new TriesRule(world, this.isCalm && !someTakeSets, (key) => this.exclusion.of(key).size > 0, fail);
    this.revocations = new Revocations(world);
    this.elections = new ElectionRules(this.assumptions, this.tokens, this.isCalm);
    this.grants = new Grants(servers);
    this.truth = new Truth(servers, this.exclusion, this.assumptions);
    const { commandTimeout, grantTimeout, lease } = TIMES;
    const slow = 3 * commandTimeout + 2 * grantTimeout;
    const service = {
      // A waiter asks again when a lease or a holdAtLeast has ended, or where a message was lost.
      free: (isQuiet ? lease / 3 + 30 * delay : slow) + (servers.isQuorum ? SPLIT : 0),
      left: isQuiet ? 30 * delay : slow,
      // A hold that no caller releases ends with its lease, which may be longer than its client knew.
      granted: isQuiet && !someForget ? 30 * delay : slow,
    };
    const lastToken = (key: string): number => this.tokens.floor(key);
    this.waiting = new WaitingRule(world, servers, () => this.disturbedUntil, service, lastToken, fail);
  }

  /** Listens to the actions of a server. */
  attend(server: Server): void {
    const { world } = this;
    server.onScript = (executed) => {
      const { script, locks } = executed.call;
      if (script === 'forceRelease') this.assumptions.broke(world.now, locks[0]);
      this.check(() => this.grants.executed(server, executed));
    };
    server.onLoss = (loss: Loss) => {
      this.assumptions.loses(server, loss, this.tokens.floor(loss.key));
      this.revocations.loses(server, loss);
    };
    server.onReinstated = (key, id) => this.check(() => this.revocations.reinstated(server, key, id));
    server.onFailure = (error) => this.found(error);
  }

  /** After each step. */
  look(): void {
    this.check(() => this.truth.compare());
  }

  /** For this number of ms from now on, plus the time it takes to detect the disturbance, no waiter need be served. */
  disturbed(ms: number): void {
    const { commandTimeout, lease } = TIMES;
    this.disturbedUntil = Math.max(this.disturbedUntil, this.world.now + ms + 2 * commandTimeout + lease);
  }

  /** A caller received a lock. */
  granted(hold: Hold, process: Process, floor: number): ObservedHold {
    const observed: ObservedHold = { hold, process, compared: { version: -1, until: 0 } };
    if (!hold.isHeld) return observed;
    this.check(() => {
      const storeId = hold.grant.id;
      const shares = hold.id !== storeId;
      if (hold.token === hold.grant.firstToken && !shares) {
        // Granted by masters in the latest lives that the process knew then. One of several keys was granted earlier.
        if (process.clock.says - hold.acquiredAt <= ROUNDING) this.assumptions.answered(hold.id, process.known);
        process.revoked.delete(hold.id);
      }
      this.tries.had(hold.key);
      const isLater = shares ? hold.acquiredAt > this.firstTurn(hold) + ROUNDING : hold.token !== hold.grant.firstToken;
      if (isLater && hold.acquiredAt > (process.yielded.get(storeId) ?? Infinity)) {
        throw new Violation('yield', `${process.name} serves another caller for '${hold.key}' after it received yield`);
      }
      if (hold.token !== hold.grant.firstToken && hold.terms.mode.kind === 'exclusive') this.grants.servesNext(hold);
      this.timeTurns(hold, process);
      this.tokens.tell(observed, floor);
      this.exclusion.begins(observed);
    });
    return observed;
  }

  /** The caller has released its hold, or learned that it is lost. */
  ends(observed: ObservedHold): void {
    this.tries.had(observed.hold.key);
    this.exclusion.ends(observed);
  }

  /** A batch serves no member after its time limit. Their tokens show that they are not more than granted. */
  private timeTurns(hold: Hold, process: Process): void {
    const { key, acquiredAt } = hold;
    const ms = acquiredAt - this.firstTurn(hold);
    if (ms <= this.schedule.turns.time + ROUNDING) return;
    throw new Violation('batch', `${process.name} serves a batch member of '${key}' ${ms} ms after the first one`);
  }

  /** When the first holder under the same grant got the key. */
  private firstTurn({ grant: { id, firstToken }, acquiredAt }: Hold): number {
    const grant = `${id} ${firstToken}`;
    const since = this.turnsSince.get(grant) ?? acquiredAt;
    this.turnsSince.set(grant, since);
    return since;
  }

  died(process: Process): void {
    this.forget(process);
    this.waiting.forget(process);
  }

  /** Its engine has been closed. */
  async closed(process: Process): Promise<void> {
    // Requests that were under way have failed with their connections; the caller has until the next step to notice.
    await new Promise<void>((resolve) => this.world.at(this.world.now, resolve));
    this.check(() => nothingRuns(process));
    this.forget(process);
  }

  private forget(process: Process): void {
    this.exclusion.forget((observed) => observed.process === process);
    this.elections.forget((observed) => observed.process === process);
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
