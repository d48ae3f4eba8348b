import type { LockHandle } from '../../lib/index.js';
import { hashSlot } from '../../lib/keys/index.js';
import { ClusterBench } from '../../lab/testbed/locks/cluster-bench.js';
import { redisKey, eventually } from '../../lab/testbed/locks/locks.js';
import { slotsOf } from '../../lab/testbed/servers/cluster-nodes.mjs';
import { RunningTime } from '../../lab/testbed/wait/running-time.mjs';

const WAITED_FOR = 1_500;
const KEPT = 150;
const RELEASED_MEANWHILE = 75;
/** A third of it passes between two renewals. */
const KEPT_LEASE = 9_000;
/** s. A waiter asks every 3 to 4 s. */
const PERIOD = 3;
/** s. A lease of 30 s is renewed every 10 s. */
const RENEWED_EVERY = 10;
/** A waiter that misses its message asks after 4 s at the latest. */
const SOON = 5_000;

const bench = new ClusterBench({}, { leavesNothing: true });
const slotOf = (key: string): number => hashSlot(redisKey('state', key));

/** Keys in as many slots. */
function keysInOwnSlots(name: string, count: number): string[] {
  const keys = new Map<number, string>();
  for (let i = 0; keys.size < count; i++) keys.set(slotOf(`${name}-${i}`), `${name}-${i}`);
  return [...keys.values()];
}

/** A key that one client holds while another client waits for it. */
class Handoff {
  /** From the release to the grant, in ms of running time. */
  took = Infinity;
  handle: LockHandle | undefined;
  private readonly granted: Promise<void>;
  private released = Infinity;

  constructor(
    readonly key: string,
    private readonly hold: LockHandle,
    waiting: Promise<LockHandle>,
    private readonly time: RunningTime,
  ) {
    this.granted = waiting.then((handle) => {
      this.handle = handle;
      this.took = time.ran - this.released;
    });
    this.granted.catch(() => undefined);
  }

  // No `expect` here: thousands of them block the event loop for seconds.
  async release(): Promise<void> {
    if (!this.hold.isHeld || this.handle !== undefined) throw new Error(`'${this.key}' had two holders`);
    this.released = this.time.ran;
    if (!(await this.hold.release())) throw new Error(`'${this.key}' was lost before its release`);
    await this.granted;
    const { isHeld, fencingToken } = this.handle!;
    if (!isHeld || fencingToken <= this.hold.fencingToken) throw new Error(`'${this.key}' was not held afterwards`);
  }
}

/** The subscribed shard channels at nodes that do not serve their slots, and the slots of all others. */
async function subscriptions(): Promise<{ strayed: string[]; slots: Set<number> }> {
  const strayed: string[] = [];
  const slots = new Set<number>();
  for (const node of bench.cluster.nodes) {
    const served = new Set(await slotsOf(node));
    for (const channel of (await node.admin.call('PUBSUB', 'SHARDCHANNELS', 'lock:*')) as string[]) {
      if (served.has(hashSlot(channel))) slots.add(hashSlot(channel));
      else strayed.push(channel);
    }
  }
  return { strayed, slots };
}

it('a third of the slots moves while one client waits for 1 500 keys: only their channels and waiters follow', async () => {
  const { cluster } = bench;
  const [holder, waiter] = await bench.pair({ commandTimeout: '10s' });
  const keeper = await bench.service({ renewedLease: KEPT_LEASE, commandTimeout: '10s' });
  const time = new RunningTime();
  const keys = keysInOwnSlots('many', WAITED_FOR);
  const holds = await Promise.all(keys.map((key) => holder.acquire(key)));
  const handoffs = holds.map(
    (hold) => new Handoff(hold.key, hold, waiter.acquire(hold.key, { waitTimeout: Infinity }), time),
  );
  const kept = await Promise.all(keysInOwnSlots('kept', KEPT).map((key) => keeper.acquire(key)));
  let placeless = keys;
  await eventually(
    async () => {
      const places = await Promise.all(placeless.map((key) => cluster.admin.zcard(redisKey('queue', key))));
      placeless = placeless.filter((_, i) => places[i] === 0);
      return placeless.length === 0;
    },
    // Each look sends a command for each of these keys.
    { what: 'a place for each of the keys', within: 60_000, every: 250 },
  );

  const bySlot = new Map(handoffs.map((handoff) => [slotOf(handoff.key), handoff]));
  const releases: Array<Promise<void>> = [];
  let movedChannels = 0;
  const moving = (slots: readonly number[]): void => {
    const waitedFor = slots.map((slot) => bySlot.get(slot)).filter((each) => each !== undefined);
    movedChannels += waitedFor.length;
    const next = waitedFor.find(({ handle }) => handle === undefined);
    if (releases.length < RELEASED_MEANWHILE && next !== undefined) releases.push(next.release());
  };
  await bench.resetStats();
  const start = performance.now();
  // For long enough to renew each of the kept holds.
  do await cluster.reshard({ moving });
  while (performance.now() - start < KEPT_LEASE / 2);
  const seconds = (performance.now() - start) / 1_000;
  await Promise.all(releases);

  // What moves is subscribed to once more. Apart from that, the clients send what they send anyway.
  expect(movedChannels).toBeGreaterThan(WAITED_FOR / 4);
  expect(await bench.calls('ssubscribe')).toBeLessThan(2 * movedChannels);
  const usual = WAITED_FOR / PERIOD + WAITED_FOR / RENEWED_EVERY + KEPT / (KEPT_LEASE / 3_000);
  expect(await bench.calls('evalsha')).toBeLessThan(2 * (usual * (seconds + 1) + movedChannels));
  // One look at the slots serves many redirections: about 15 s⁻¹ of each client. One look each would be 300 s⁻¹ of all.
  expect(await bench.calls('cluster|slots')).toBeLessThan(100 * (seconds + 1));

  const waited = handoffs.filter(({ handle }) => handle === undefined);
  await eventually(async () => {
    const { strayed, slots } = await subscriptions();
    return strayed.length === 0 && waited.every(({ key }) => slots.has(slotOf(key)));
  });
  expect(kept.filter(({ isHeld }) => !isHeld)).toEqual([]);
  await Promise.all(kept.map((handle) => handle.verify()));
  await Promise.all(waited.map((handoff) => handoff.release()));
  time.stop();
  expect(handoffs.filter(({ took }) => took > SOON).map(({ key, took }) => `${key}: ${took} ms`)).toEqual([]);
  expect(await Promise.all(kept.map((handle) => handle.release()))).toEqual(kept.map(() => true));
  // On a busy machine, ioredis may wait for the slots for longer than its limit of 1 s, and the new master may grant before
  // the subscription has followed.
  const isUsual = (line: string): boolean => /: (timeout|the message about a granted lock did not arrive)$/.test(line);
  expect(bench.lines.filter((line) => line.startsWith('error') && !isUsual(line))).toEqual([]);
  await waiter.close();
});
