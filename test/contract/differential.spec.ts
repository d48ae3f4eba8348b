import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import {
  UNCONTENDED_BATCH_SIZE,
  type AcquireReply,
  type AcquireRequest,
  type HoldMode,
  type LockStore,
  type StoredLock,
} from '../../lib/store/lock-store.js';
import { MemoryBackend } from '../../lib/store/memory/memory-backend.js';
import { memoryStore } from '../../lib/store/memory/memory-store.js';
import { RedisStore } from '../../lib/store/redis/redis-store.js';
import { eventuallyPasses, startRedis, type RedisServer } from '../../lab/testbed/locks/locks.js';

const CLIENTS = 3;
const KEYS = ['a', 'b'];
const IDS = 6;
/** For sets and handovers: the id of a request that waits asks for neither. */
const SPARE_ID = 100;
const SEED = Number(process.env['SEED'] ?? 20_261_121);
/** A lease that ends within a sequence, and how long a sequence waits for that. */
const SHORT = 1_000;
const LONG = 100_000;
/** By how many ms times of the two may differ. */
const TOLERANCE = 500;
const MOST_PASSES = 2;

interface Ask {
  client: number;
  key: string;
  number: number;
  mode: HoldMode;
  slots: number | undefined;
  owner: string | undefined;
  lease: number;
  waits: boolean;
  period: number;
}

type Op =
  | { op: 'acquire'; ask: Ask }
  | { op: 'acquireAll'; client: number; asks: [Ask, Ask] }
  | { op: 'release'; client: number; key: string; number: number; keep: number; next?: Ask }
  | { op: 'renew'; client: number; key: string; number: number; lease: number }
  | { op: 'offer'; client: number; key: string; number: number; offer: string; lease: number }
  | { op: 'adopt'; ask: Ask; offer: string }
  | { op: 'setLimit'; client: number; key: string; permits: number }
  | { op: 'forceRelease'; client: number; key: string }
  | { op: 'pass' };

const client = fc.nat(CLIENTS - 1);
const key = fc.constantFrom(...KEYS);
const number = fc.integer({ min: 1, max: IDS });
const held = fc.oneof({ weight: 6, arbitrary: number }, { weight: 1, arbitrary: fc.constant(SPARE_ID) });
const mode: fc.Arbitrary<HoldMode> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ kind: 'exclusive' as const }) },
  { weight: 2, arbitrary: fc.constant({ kind: 'read' as const }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('permits' as const),
      units: fc.integer({ min: 1, max: 2 }),
      limit: fc.constantFrom(3, 7),
    }),
  },
);
const ask: fc.Arbitrary<Ask> = fc.record({
  client,
  key,
  number,
  mode,
  slots: fc.constantFrom(undefined, 1, 2, 4),
  owner: fc.option(fc.constantFrom('x', 'y'), { nil: undefined }),
  lease: fc.oneof({ weight: 6, arbitrary: fc.constant(LONG) }, { weight: 1, arbitrary: fc.constant(SHORT) }),
  waits: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
  // With the last one, a request follows others.
  period: fc.constantFrom(20_000, 90_000, 300_000),
});
const spare = ask.map((each): Ask => ({ ...each, number: SPARE_ID }));
const offer = fc.constantFrom('handover:1', 'handover:2');
/** A call of the port, with its terms in any combination. */
const call = <Name extends Op['op']>(
  weight: number,
  name: Name,
  terms: { [Term in Exclude<keyof Extract<Op, { op: Name }>, 'op'>]: fc.Arbitrary<Extract<Op, { op: Name }>[Term]> },
) => ({
  weight,
  arbitrary: fc.record({ op: fc.constant(name), ...terms }) as fc.Arbitrary<unknown> as fc.Arbitrary<Op>,
});

const drained = ask.map((each): Ask => ({ ...each, mode: { kind: 'permits', units: 0, limit: 3 }, waits: false }));
const pair = fc.tuple(spare, spare).map(([a, b]): [Ask, Ask] => [
  { ...a, key: KEYS[0]!, waits: false },
  { ...b, key: KEYS[1]!, waits: false },
]);
const keep = fc.constantFrom(0, 0, 0, LONG, SHORT);
const release = { op: fc.constant('release' as const), client, key, number: held, keep, next: ask };
const op: fc.Arbitrary<Op> = fc.oneof(
  call(12, 'acquire', { ask }),
  call(2, 'acquire', { ask: drained }),
  call(1, 'acquireAll', { client, asks: pair }),
  { weight: 8, arbitrary: fc.record(release, { requiredKeys: ['op', 'client', 'key', 'number', 'keep'] }) },
  call(3, 'renew', { client, key, number: held, lease: fc.constantFrom(LONG / 2, LONG, 2 * LONG) }),
  call(3, 'offer', { client, key, number: held, offer, lease: fc.constantFrom(SHORT, LONG, LONG) }),
  call(3, 'adopt', { ask: spare, offer }),
  call(1, 'setLimit', { client, key, permits: fc.integer({ min: 0, max: 5 }) }),
  call(1, 'forceRelease', { client, key }),
  call(1, 'pass', {}),
);

/** One store under test: its clients, their notifications, and names for random values. */
class Side {
  readonly told: string[][] = Array.from({ length: CLIENTS }, () => []);
  readonly times: number[] = [];
  private readonly names = new Map<string, string>();
  private readonly tokens = new Map<string, number>();

  private constructor(
    private readonly clients: readonly LockStore[],
    private readonly prefix: string,
  ) {
    clients.forEach((each, i) => {
      this.names.set(each.clientId, `client${i}`);
      const told = this.told[i]!;
      each.listen({
        granted: (grant) =>
          told.push(
            `granted ${this.id(grant.id)} ${this.short(grant.key)} ${grant.batchSize} turns ${grant.units} units`,
          ),
        // When to retry depends on what else the store can notice.
        retryAfter: () => undefined,
        // A store may make a holder end its batch earlier, or more often, than necessary.
        yield: () => undefined,
        revoked: (id, _token, _by, next) => told.push(`revoked ${this.id(id)} for ${next && this.id(next)}`),
        opened: () => undefined,
        restored: () => undefined,
      });
    });
  }

  static async start(prefix: string, make: () => LockStore): Promise<Side> {
    const clients = Array.from({ length: CLIENTS }, make);
    const side = new Side(clients, prefix);
    await Promise.all(clients.map((each) => each.start()));
    return side;
  }

  async close(): Promise<void> {
    await Promise.all(this.clients.map((each) => each.close()));
  }

  async play(op: Op): Promise<unknown> {
    switch (op.op) {
      case 'acquire':
        return this.answer(op.ask.key, await this.clients[op.ask.client]!.acquire(this.request(op.ask)));
      case 'acquireAll': {
        const requests = op.asks.map((each) => this.request({ ...each, client: op.client }));
        const replies = await this.clients[op.client]!.acquireAll(requests);
        if (replies === undefined || 'map' in replies)
          return replies && Promise.all(replies.map((reply, i) => this.answer(op.asks[i]!.key, reply)));
        return [this.short(replies.key), replies.holders.map((id) => this.id(id)).sort()];
      }
      case 'release': {
        const { keep } = op;
        const id = this.idOf(op.client, op.key, op.number);
        const asks = op.next && { ...op.next, client: op.client, key: op.key, number: op.next.number + IDS };
        // A request that comes with a release is a new one, and the release ends a hold.
        const isNew = asks && !(await this.waits(op.key, id)) && !(await this.isKnown(asks));
        const next = isNew ? this.request(asks) : undefined;
        const reply = await this.clients[op.client]!.release({
          key: this.key(op.key),
          id,
          tombstoneFor: 0,
          keep,
          next,
        });
        return { released: reply.released, next: reply.next && (await this.answer(op.key, reply.next)) };
      }
      case 'renew': {
        const request = { key: this.key(op.key), id: this.idOf(op.client, op.key, op.number), lease: op.lease };
        const [left] = await this.clients[op.client]!.renew([request]);
        return typeof left === 'number' ? this.time(left) : left;
      }
      case 'offer': {
        const request = { key: this.key(op.key), id: this.idOf(op.client, op.key, op.number), offer: op.offer };
        const left = await this.clients[op.client]!.offer({ ...request, lease: op.lease });
        return typeof left === 'number' ? this.time(left) : left;
      }
      case 'adopt': {
        const request = { ...this.request({ ...op.ask, waits: false }), adopts: op.offer };
        return this.answer(op.ask.key, await this.clients[op.ask.client]!.acquire(request));
      }
      case 'setLimit':
        return this.clients[op.client]!.setLimit!(this.key(op.key), op.permits);
      case 'forceRelease':
        return this.clients[op.client]!.forceRelease(this.key(op.key));
      case 'pass':
        return undefined;
    }
  }

  /** The notifications of each client, sorted; a script notifies in any order, since Redis keeps holds in any. */
  get sorted(): string[][] {
    return this.told.map((messages) => [...messages].sort());
  }

  async look(): Promise<unknown> {
    const states: unknown[] = [];
    for (const each of KEYS) states.push(this.state(await this.clients[0]!.inspect(this.key(each))));
    return states;
  }

  /** Times are compared roughly, apart from the rest. */
  private time(ms: number): string {
    this.times.push(ms);
    return 'ms';
  }

  private state({ holds, waiters, limit }: StoredLock): unknown {
    return {
      limit,
      holds: [...holds]
        .sort((a, b) => (this.id(a.id) < this.id(b.id) ? -1 : 1))
        .map(({ kept, ttl, token: _, ...hold }) => ({
          ...this.named(hold),
          kept,
          ttl: this.time(ttl),
        })),
      waiters: waiters.map((waiter) => this.named(waiter)),
    };
  }

  private async waits(key: string, id: string): Promise<boolean> {
    const { waiters } = await this.clients[0]!.inspect(this.key(key));
    return waiters.some((waiter) => waiter.id === id);
  }

  private async isKnown({ client, key, number }: Ask): Promise<boolean> {
    const id = this.idOf(client, key, number);
    const { holds, waiters } = await this.clients[0]!.inspect(this.key(key));
    return [...holds, ...waiters].some((each) => each.id === id);
  }

  private async answer(key: string, reply: AcquireReply): Promise<unknown> {
    switch (reply.outcome) {
      case 'held':
        return {
          outcome: 'held',
          lease: this.time(reply.lease),
          token: this.grown(key, reply.token),
          batchSize: reply.batchSize,
          units: reply.units,
        };
      case 'queued':
      case 'busy': {
        // Of more than four it names any four, and none that is only kept.
        const { holds } = await this.clients[0]!.inspect(this.key(key));
        const holders = holds.length <= 4 ? reply.holders.map((id) => this.id(id)).sort() : [];
        return { outcome: reply.outcome, holders };
      }
      default:
        return reply.outcome;
    }
  }

  /** Whether a token of a key is larger than, or as large as, the last token of that key. */
  private grown(key: string, token: number): string {
    const last = this.tokens.get(key) ?? 0;
    this.tokens.set(key, Math.max(last, token));
    return token > last ? 'larger' : token === last ? 'same' : 'smaller';
  }

  private request({ client, key, number, ...ask }: Ask): AcquireRequest {
    return {
      ...ask,
      lease: ask.waits ? LONG : ask.lease,
      key: this.key(key),
      id: this.idOf(client, key, number),
      // Some let other callers of their client have it in turn, and some want to be served in the order of all
      // requests.
      batchSize: number % 3 === 0 ? 16 : 1,
      uncontendedBatchSize: isUncontended(number) ? UNCONTENDED_BATCH_SIZE : number % 3 === 0 ? 16 : 1,
      fair: number % 3 === 1,
      patience: 10 * LONG,
      // The first lease of a pushed grant is the whole one: no client is passed over.
      grantTimeout: 2 * LONG,
    };
  }

  private idOf(client: number, key: string, number: number): string {
    return `${this.clients[client]!.clientId}:${key}${number}`;
  }

  private readonly key = (key: string): string => `${this.prefix}${key}`;
  private readonly short = (key: string): string => key.slice(this.prefix.length);

  private id(id: string): string {
    const client = id.slice(0, 32);
    return (this.names.get(client) ?? client) + id.slice(32);
  }

  private named({ id, owner, mode }: { id: string; owner: string; mode: HoldMode }) {
    return { id: this.id(id), owner: this.id(owner), mode };
  }
}

const isUncontended = (number: number): boolean => number % 6 === 0;

/** Whether the clock of a server needs time to pass the tokens that a call may reserve. */
function mayReserveMany(op: Op): boolean {
  const asks = op.op === 'acquire' ? [op.ask] : op.op === 'release' ? [op.next] : [];
  return asks.some((each) => each !== undefined && isUncontended(each.number));
}

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

const quiet = { debug() {}, log() {}, warn() {}, error() {} };
let lastRun = 0;

/** A busy machine plays fewer sequences, unless their number is given. */
const TIME_LIMIT = process.env['RUNS'] === undefined ? 8_000 : Infinity;
const began = performance.now();

async function compare(ops: readonly Op[]): Promise<void> {
  if (performance.now() - began > TIME_LIMIT) return;
  const prefix = `run${++lastRun}:`;
  const options = { connection: redis.url, keyPrefix: 'lock', commandTimeout: 5_000 };
  const backend = new MemoryBackend();
  const sides = [
    await Side.start(prefix, () => new RedisStore(options, quiet)),
    await Side.start(prefix, () => memoryStore(backend)),
  ] as const;
  const done: string[] = [];
  let since = performance.now();
  let passes = 0;
  try {
    for (const op of ops) {
      // Beyond this the leases that are short may have ended in one of the two; and the times are far from round.
      if (op.op !== 'pass' && performance.now() - since > SHORT / 2) continue;
      if (op.op === 'pass') {
        if (++passes > MOST_PASSES) continue;
        await sleep(SHORT + 50);
        since = performance.now();
      }
      done.push(JSON.stringify(op));
      const [expected, actual] = [await sides[0].play(op), await sides[1].play(op)];
      expect({ done, reply: actual }).toEqual({ done, reply: expected });
      if (mayReserveMany(op)) await sleep(2);
      const [truth, memory] = [await sides[0].look(), await sides[1].look()];
      expect({ done, state: memory }).toEqual({ done, state: truth });
      const apart = sides[0].times.map((ms, i) => Math.abs(ms - sides[1].times[i]!));
      const worst = apart.findIndex((ms) => ms >= TOLERANCE);
      const times = sides.map((side) => (worst < 0 ? [] : side.times[worst]));
      expect({ done, times: times[1] }).toEqual({ done, times: times[0] });
      await eventuallyPasses(() => expect({ done, told: sides[1].sorted }).toEqual({ done, told: sides[0].sorted }), {
        within: 1_000,
      });
    }
  } finally {
    await Promise.all(sides.map((side) => side.close()));
  }
}

it('the memory store behaves like Redis for random calls (SEED, RUNS and SHRINK in the environment)', async () => {
  await fc.assert(fc.asyncProperty(fc.array(op, { minLength: 5, maxLength: 40, size: 'max' }), compare), {
    seed: SEED,
    numRuns: Number(process.env['RUNS'] ?? 40),
    endOnFailure: process.env['SHRINK'] === undefined,
  });
});
