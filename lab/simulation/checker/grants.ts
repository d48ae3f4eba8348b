import { excludes } from '../../checker/terms.mjs';
import type { Hold as ClientHold } from '../../../lib/engine/hold.js';
import { MAX_HOLDERS, PARKED_READ } from '../../../lib/store/protocol.generated.js';
import { TIMES } from '../schedule/schedule.js';
import type { Hold, LockImage, Ticket } from '../redis/stored-lock.js';
import { askersOf, asksForPlace, endedBy, goesAhead, renamedTo, type Call } from '../world/call.js';
import type { Change, ExecutedCall, Server } from '../world/server.js';
import type { Servers } from '../world/servers.js';
import { Violation } from './violation.js';

/** ms, by any clock, for which a server remembers that an acquisition was given up. */
const REMEMBERED = 2 * TIMES.commandTimeout * 0.98;

/** A grant, as the server has made it. */
interface Grant {
  /** The last of the tokens that belong to it. */
  readonly lastToken: number;
  /** The fair tickets that waited then. */
  readonly fair: readonly string[];
}

/**
 * Compares each lock before and after each script. Who has to be granted, and who must not be, follows from the keys: the
 * holds that there are, and the tickets of clients that are connected, in the order of their places.
 */
export class Grants {
  /** By server, and by id and first token. */
  private readonly grants = new Map<string, Grant>();
  /**
   * What was given up on each life of a server, over each line: the number of the call, and the time by the server's clock. An
   * address that leads to another master brings a second line to it, whose commands end with a release of their own.
   */
  private readonly ended = new Map<string, { readonly number: number; readonly at: number }>();

  constructor(private readonly servers: Servers) {}

  executed(server: Server, { call, changes, hasMore, messages }: ExecutedCall): void {
    for (const change of changes) {
      const script = new Script(server, call, change, messages, this.servers.isQuorum);
      this.nothingIsLate(server, call, change);
      script.grantsOnlyWhatFits();
      script.keepsOrder();
      script.unparks();
      script.endsBatches();
      if (!hasMore) script.leavesNobodyWaiting();
      this.note(server, script);
    }
    const id = endedBy(call);
    if (id !== undefined) this.ended.set(nameOf(server, call, id), { number: call.number, at: server.time });
  }

  /** Another member of a batch is served: with a token that its grant has reserved, and not before a fair caller. */
  servesNext({ key, token, grant: { id: storeId, firstToken } }: ClientHold): void {
    const [server] = this.servers.all as [Server];
    const grant = this.servers.isQuorum ? undefined : this.grants.get(`${server.name} ${storeId} ${firstToken}`);
    if (grant === undefined) return;
    const most = grant.lastToken;
    if (token > most) throw new Violation('tokens', `${storeId} uses token ${token} of '${key}', ${most} is its last`);
    const { tickets } = server.inspect(key);
    const fair = tickets.find(({ id, isStale }) => !isStale && grant.fair.includes(id));
    if (fair !== undefined && server.isPresent(fair.id))
      throw new Violation('order', `${storeId} serves a batch on '${key}' while the fair ${fair.id} waits`);
  }

  /** A command that was sent before an acquisition was given up has no effect behind that. */
  private nothingIsLate(server: Server, call: Call, { before, after }: Change): void {
    for (const id of [...askersOf(call), renamedTo(call)]) {
      const ended = id === undefined ? undefined : this.ended.get(nameOf(server, call, id));
      if (ended === undefined || call.number > ended.number || server.time > ended.at + REMEMBERED) continue;
      const isNew = (of: keyof Pick<LockImage, 'holds' | 'tickets'>): boolean =>
        after[of].some((each) => each.id === id) && !before[of].some((each) => each.id === id);
      if (isNew('holds') || isNew('tickets'))
        throw new Violation('late', `${call.script!} for ${id!} was sent before that was given up, and takes effect`);
    }
  }

  private note(server: Server, { after, granted }: Script): void {
    const fair = after.tickets.filter((ticket) => ticket.isFair && !ticket.isParked && !ticket.isStale);
    const tokens = granted.map(({ token }) => token).sort((a, b) => a - b);
    for (const { id, token } of granted) {
      const next = tokens[tokens.indexOf(token) + 1];
      const lastToken = next === undefined ? after.lastToken : next - 1;
      this.grants.set(`${server.name} ${id} ${token}`, { lastToken, fair: fair.map((ticket) => ticket.id) });
    }
  }
}

/** One script, and one of its locks. */
class Script {
  readonly after: LockImage;
  /** The holds that it has granted, or given another id. */
  readonly granted: readonly Hold[];
  private readonly key: string;
  private readonly before: LockImage;
  private readonly askers: readonly string[];
  private readonly renamed: string | undefined;

  constructor(
    private readonly server: Server,
    private readonly call: Call,
    { key, before, after }: Change,
    private readonly messages: readonly string[],
    private readonly isQuorum: boolean,
  ) {
    this.key = key;
    this.before = before;
    this.after = after;
    this.askers = askersOf(call);
    this.renamed = renamedTo(call);
    this.granted = after.holds.filter(({ id, kept }) => !kept && !has(before.holds, id));
  }

  /** No hold stands beside a hold that excludes it, and none grows. */
  grantsOnlyWhatFits(): void {
    const { before, after, call, key } = this;
    for (const hold of this.granted) {
      // An owner that re-enters by another hold may do so beside a hold that is kept.
      const reenters = this.reenters(hold);
      const other = after.holds.find((each) => each !== hold && !(reenters && each.kept) && !fits(each, hold));
      if (other !== undefined) this.fail('exclusion', `${hold.id} is granted '${key}' beside ${other.id}`);
      const { mode, id } = hold;
      if (mode.kind !== 'permits' || id === this.renamed) continue;
      const limit = after.limit ?? mode.limit;
      const used = after.holds.reduce((sum, each) => sum + unitsOf(each), 0);
      if (used > limit)
        this.fail('permits', `${used} of ${limit} permits of '${key}' are held after the grant to ${id}`);
    }
    for (const hold of before.holds) {
      const now = after.holds.find(({ id }) => id === hold.id);
      if (now?.token !== hold.token) continue;
      const most = call.script === 'keepUnits' && call.args[1] === hold.id ? Number(call.args[2]) : Infinity;
      if (unitsOf(now) > Math.min(most, unitsOf(hold)))
        this.fail('permits', `${hold.id} keeps ${unitsOf(now)} of ${unitsOf(hold)} permits of '${key}'`);
    }
  }

  /**
   * Grants follow the order of the places. Passed are only tickets of clients that are absent or have let a grant expire,
   * and parked ones.
   */
  keepsOrder(): void {
    const { before, after, key } = this;
    for (const hold of this.granted) {
      const { id } = hold;
      const isAsker = this.askers.includes(id);
      if (id === this.renamed || this.reenters(hold)) continue;
      const ticket = before.tickets.find((each) => each.id === id);
      if (!isAsker) {
        if (!this.server.isPresent(id)) this.fail('absent', `${id} is granted '${key}', and its client is absent`);
        if (ticket?.isStale === true) this.fail('order', `${id} is granted '${key}', and its ticket is stale`);
      }
      // Several masters order requests by their ages.
      if (isAsker && (this.isQuorum || goesAhead(this.call))) continue;
      const returns = ticket?.isParked !== true || this.askers.some((asker) => clientOf(asker) === clientOf(id));
      const place = returns ? (ticket?.place ?? Infinity) : Infinity;
      // A ticket of several masters may have got another place by this script.
      const isBefore = (each: Ticket): boolean => each.place < place;
      const passed = before.tickets.find((each) => isBefore(each) && this.mayBeGranted(each));
      if (passed !== undefined && after.tickets.some((each) => each.id === passed.id && isBefore(each)))
        this.fail('order', `${id} is granted '${key}' before ${passed.id}`);
    }
    this.queues();
  }

  /** A new ticket stands at the end. The ticket of a caller that has other keys passes no fair ticket. */
  private queues(): void {
    if (this.isQuorum) return;
    const { before, after, key } = this;
    for (const id of this.askers) {
      const ticket = after.tickets.find((each) => each.id === id);
      if (ticket === undefined || has(before.tickets, id)) continue;
      const passed = after.tickets.find((each) => {
        return each.id !== id && each.place >= ticket.place && (each.isFair || !goesAhead(this.call));
      });
      if (passed !== undefined) this.fail('order', `${id} queues for '${key}' before ${passed.id}`);
    }
  }

  /** A client that asks gets its tickets back. */
  unparks(): void {
    const { before, after, key } = this;
    for (const id of this.askers) {
      const ticket = after.tickets.find((each) => each.id === id);
      const old = before.tickets.find((each) => each.id === id);
      if (ticket === undefined || ticket.staleAt === old?.staleAt) continue;
      if (ticket.isParked) this.fail('parked', `${id} has asked for '${key}' and stays parked`);
      // Another ticket of the client would get its grant by a message, so a script parks it again.
      if (old?.isParked !== true || !this.server.isPresent(id)) continue;
      const other = after.tickets.find((each) => each.isParked && clientOf(each.id) === clientOf(id));
      if (other !== undefined) this.fail('parked', `${id} has asked for '${key}', and ${other.id} stays parked`);
    }
  }

  /** The holders hear that a fair request waits, of many holders the latest few: the batches of the others end soon. */
  endsBatches(): void {
    const { before, after, key, messages } = this;
    const fair = after.tickets.find(({ id, isFair }) => isFair && !has(before.tickets, id));
    if (fair === undefined) return;
    const holds = after.holds.filter(({ kept }) => !kept);
    const uninformed = holds.filter(({ id }) => !messages.some((message) => message.startsWith(`yield ${id} `)));
    if (uninformed.length > Math.max(0, after.holds.length + after.expired.length - MAX_HOLDERS))
      this.fail('yield', `${uninformed[0]!.id} has '${key}' and does not hear that the fair ${fair.id} waits`);
  }

  /** The first waiter that could be granted has to wait for a hold. */
  leavesNobodyWaiting(): void {
    const { after, key } = this;
    if (!this.settles()) return;
    const first = after.tickets.find((ticket) => this.mayBeGranted(ticket)) ?? this.firstParked();
    if (first === undefined || after.holds.some((hold) => !fits(hold, first) || hold.owner === first.owner)) return;
    const { mode } = first;
    const limit = mode.kind === 'permits' ? (after.limit ?? mode.limit) : Infinity;
    const used = after.holds.reduce((sum, hold) => sum + unitsOf(hold), 0);
    if (used + unitsOf(first) > limit) return;
    this.fail('free', `'${key}' ${after.holds.length === 0 ? 'is free' : 'has room'} while ${first.id} waits for it`);
  }

  /** Whether the script goes through the queue. */
  private settles(): boolean {
    const { after, call, askers, granted } = this;
    switch (call.script) {
      case 'acquire':
        // A request that finds its own hold, or is refused, leaves the queue alone.
        return (
          after.holds.length === 0 ||
          has(after.tickets, askers[0]!) ||
          granted.some((hold) => hold.id === askers[0] && !this.reenters(hold))
        );
      case 'release':
      case 'forceRelease':
      case 'setLimit':
      case 'addLimit':
        return true;
      case 'acquireAll':
      case 'reinstate':
        return false;
      default:
        return call.args.some((id) => has(after.holds, id));
    }
  }

  /** Of clients that were away a script looks at the first few only, if no other waits. */
  private firstParked(): Ticket | undefined {
    const { after, server } = this;
    if (after.holds.length > 0) return undefined;
    const parked = after.tickets.filter(({ isParked }) => isParked).slice(0, PARKED_READ);
    return parked.find(({ id, isStale }) => !isStale && server.isPresent(id));
  }

  private mayBeGranted({ id, isParked, isStale }: Ticket): boolean {
    const { before, after, call } = this;
    if (isStale || has(after.holds, id)) return false;
    const client = clientOf(id);
    // An asker gets its grant as the reply, so it need not be present.
    const asks = asksForPlace(call) && this.askers.includes(id);
    if (isParked || (!asks && !this.server.isPresent(id))) return false;
    // A client that releases a grant has not let it expire.
    const released = call.script === 'release' ? call.args[1] : undefined;
    const letsExpire = before.expired.some(
      (hold) => hold.pushed && hold.id !== released && clientOf(hold.id) === client,
    );
    // A client that asks for a place is not absent any more.
    if (asksForPlace(call) && this.askers.some((asker) => clientOf(asker) === client)) return true;
    return !letsExpire && !before.tombstones.includes(client) && !after.tombstones.includes(client);
  }

  /** Whether a new hold re-enters: its owner had another hold that admits it. */
  private reenters({ id, owner, mode: { kind } }: Hold): boolean {
    const lets = (other: Hold): boolean =>
      other.id !== id && other.owner === owner && !other.kept && (other.mode.kind === 'exclusive' || kind === 'read');
    return kind !== 'permits' && [...this.before.holds, ...this.after.holds].some(lets);
  }

  private fail(rule: string, message: string): never {
    throw new Violation(rule, `${message} (${this.call.script!}, ${this.server.name})`);
  }
}

const nameOf = (server: Server, { line }: Call, id: string): string => `${server.name} ${server.life} ${line} ${id}`;

const clientOf = (id: string): string => id.split(':')[0]!;

const has = (list: ReadonlyArray<{ readonly id: string }>, id: string): boolean => list.some((each) => each.id === id);

const unitsOf = ({ mode }: Pick<Hold, 'mode'>): number => (mode.kind === 'permits' ? mode.units : 0);

/** Whether a hold leaves room for another one, apart from the number of permits. A kept hold has no owner any more. */
function fits(hold: Hold, { mode, owner }: Pick<Hold, 'mode' | 'owner'>): boolean {
  const kinds = [hold.mode.kind, mode.kind];
  return !excludes(kinds[0]!, kinds[1]!) || (!kinds.includes('permits') && hold.owner === owner && !hold.kept);
}
