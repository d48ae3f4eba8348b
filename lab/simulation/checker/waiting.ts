import { nextReplyDue, replyDue, replyTime } from '../../../lib/engine/waiter.js';
import type { Hold } from '../redis/stored-lock.js';
import { TIMES } from '../schedule/schedule.js';
import type { Process } from '../world/process.js';
import type { Servers } from '../world/servers.js';
import type { World } from '../world/world.js';
import { Violation } from './violation.js';

/** One waiting caller. */
export interface Waiting {
  readonly process: Process;
  readonly keys: readonly string[];
  /** The world's time by which it must have an answer, if its process runs. */
  readonly until: number;
  /** ms that its requests may take, once more after a stall. */
  readonly slack: number;
}

/** ms between two checks of the waiters. */
const LOOK = 25;
/** ms that a process is given for work that has fallen due. */
const GRACE = 5;

/** The service that waiters may expect when nothing disturbs them, in ms. */
export interface Service {
  /** For how long a key may be free while a caller waits for it. */
  readonly free: number;
  /** For how long a caller that has given up may stay in the queue of the key. */
  readonly left: number;
  /** For how long a granted caller may continue to wait. */
  readonly granted: number;
}

/**
 * Every waiter gets the lock or an answer in time; and no key stays free, or granted to a caller that does not know,
 * for long.
 */
export class WaitingRule {
  private readonly all = new Set<Waiting>();
  private isLooking = false;
  /** Since when something lasts that must not last. */
  private readonly since = new Map<string, number>();

  constructor(
    private readonly world: World,
    private readonly servers: Servers,
    /** Until when the last disturbance lasts. */
    private readonly disturbedUntil: () => number,
    private readonly service: Service,
    /** The largest token of a key that any caller has received. */
    private readonly lastToken: (key: string) => number,
    private readonly fail: (violation: Violation) => void,
  ) {}

  get size(): number {
    return this.all.size;
  }

  begin(waiting: Waiting): void {
    this.all.add(waiting);
    if (this.isLooking) return;
    this.isLooking = true;
    this.world.at(this.world.now + LOOK, () => this.look());
  }

  end(waiting: Waiting): void {
    this.all.delete(waiting);
  }

  forget(process: Process): void {
    for (const waiting of this.all) if (waiting.process === process) this.all.delete(waiting);
  }

  private look(): void {
    this.isLooking = false;
    const { now } = this.world;
    const wanted = new Map<string, Set<Process>>();
    for (const { process, keys, until, slack } of this.all) {
      const { machine, name } = process;
      const late = now - Math.max(until, machine.stalledUntil + slack);
      if (late > GRACE) {
        return this.fail(new Violation('waiting', `a caller of ${name} waits for ${keys.join()} ${late} ms too long`));
      }
      if (machine.isStalled || keys.length > 1) continue;
      wanted.set(keys[0]!, (wanted.get(keys[0]!) ?? new Set()).add(process));
    }
    const lasting = new Map<string, number>();
    for (const [key, processes] of wanted) this.lookAt(key, processes, lasting);
    this.since.clear();
    for (const [what, since] of lasting) this.since.set(what, since);
    if (this.all.size === 0) return;
    this.isLooking = true;
    this.world.at(now + LOOK, () => this.look());
  }

  private lookAt(key: string, processes: ReadonlySet<Process>, lasting: Map<string, number>): void {
    const held = this.servers.held(key);
    const lasts = (what: string, limit: number): void => {
      const since = this.since.get(what) ?? this.world.now;
      lasting.set(what, since);
      const ms = this.world.now - Math.max(since, this.disturbedUntil());
      if (ms > limit) this.fail(new Violation('service', `${what} for ${ms} ms while a caller waits`));
    };
    // A caller may have had it between two checks.
    if (held.length === 0) lasts(`'${key}' is free behind token ${this.lastToken(key)}`, this.service.free);
    for (const { engine, name } of processes) {
      const tickets = Reflect.get(engine, 'tickets') as { has(id: string): boolean };
      const known = Reflect.get(engine, 'grants') as { has(id: string): boolean };
      const isUnknown = ({ id, kept }: Hold): boolean => id.startsWith(`${name}:`) && !kept && !known.has(id);
      for (const hold of held) {
        if (isUnknown(hold)) lasts(`${name} has '${key}' and does not know (${hold.id})`, this.service.granted);
      }
      for (const server of this.servers.all) {
        const lock = server.inspect(key);
        for (const { id, isStale } of lock.tickets) {
          // A hold that a majority has may keep its place on another master.
          const hasLeft = !isStale && id.startsWith(`${name}:`) && !tickets.has(id) && !known.has(id);
          if (hasLeft)
            lasts(`${id} has left the queue of '${key}' and stands in it (${server.name})`, this.service.left);
        }
        for (const hold of lock.holds) {
          const isForgotten = isUnknown(hold) && !tickets.has(hold.id);
          if (isForgotten)
            lasts(`${name} has a vote for '${key}' and does not know (${hold.id})`, this.service.granted);
        }
      }
    }
  }
}

/**
 * ms by which a call may end after `waitTimeout`, by the library's own limits: for each key a request, behind several keys
 * another request if their leases begin only then, and a request to the replicas. Several masters may be slower than was
 * known at first.
 */
export function slackOf(waitTimeout: number, keys: number, replicas: boolean, needed: number | undefined): number {
  const { commandTimeout } = TIMES;
  const replyBy = replyDue(0, waitTimeout, commandTimeout, needed);
  const slowest = needed === undefined ? undefined : commandTimeout;
  let due = replyBy;
  for (let requests = 1; keys > 1 && requests <= keys; requests += 1) {
    due = nextReplyDue({ since: 0, now: due, replyBy }, waitTimeout, commandTimeout, slowest);
  }
  if (replicas) due = Math.max(due, waitTimeout + TIMES.replicaTimeout + replyTime(commandTimeout));
  return due - waitTimeout;
}
