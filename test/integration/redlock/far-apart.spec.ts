import { setTimeout as sleep } from 'node:timers/promises';
import type { LockService } from '../../../lib/service/lock.service.js';
import { RunningTime } from '../../../lab/testbed/wait/running-time.mjs';
import { RespProxy } from '../../../lab/testbed/proxies/resp-proxy.mjs';
import { RedlockBench } from './support.js';

const bench = new RedlockBench(5, { leavesNothing: true });

/** ms for a request or a reply between a client and a master. */
type Distance = (client: number, master: number) => number;

/** Each client lives beside one master, and all others are far away. */
const apart =
  (ms: number): Distance =>
  (client, master) =>
    client === master ? 0 : ms;

/** Clients at so many places, each on links of its own to the masters. */
async function clientsAt(masters: number, clients: number, distance: Distance): Promise<LockService[]> {
  return Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      const links = await Promise.all(
        bench.masters.slice(0, masters).map(async (server, master) => {
          const link = bench.endLater(await RespProxy.start(server));
          const ms = distance(client, master);
          link.delay({ request: ms, reply: ms });
          return link;
        }),
      );
      const service = await bench.service({ connection: links.map(({ url }) => url), commandTimeout: 5_000 });
      // Scripts are loaded, and connections are there.
      await service.run(`warm:${client}`, () => undefined);
      return service;
    }),
  );
}

/** ms that a try can spare: it takes six round trips and 40 ms, and ends on a machine that is this late. */
const SPARE = 20;
/** By how many ms a call that waits ends later than its `waitTimeout`, at most: as docs/options.md says. */
const LATEST = 300;
/** How many rounds, each of a key of its own, are played at the same time: they mostly wait. */
const AT_ONCE = 3;

/** Notices when the machine lets the masters wait for their turn. */
class Watch implements AsyncDisposable {
  private isOver = false;
  private lateAt = -Infinity;
  private readonly watching = bench.masters.map((master) => this.watch(master));

  /** Whether a master has answered late since a moment. */
  hasBeenLateSince(moment: number): boolean {
    return this.lateAt >= moment;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isOver = true;
    await Promise.all(this.watching);
  }

  private async watch({ admin }: (typeof bench.masters)[number]): Promise<void> {
    while (!this.isOver) {
      const asked = performance.now();
      await admin.ping();
      if (performance.now() - asked > SPARE) this.lateAt = performance.now();
      await sleep(SPARE);
    }
  }
}

interface Rounds {
  /** In how many rounds a client got the key. */
  served: number;
  /** In how many rounds no caller got it, and the machine let the processes wait for longer than a try can spare. */
  heldUp: number;
}

/** All clients try once at the same moment; never do two get the key. */
async function tryOnce(
  services: readonly LockService[],
  key: string,
  { rounds, watch }: { rounds: Rounds; watch: Watch },
  waitTimeout = 0,
) {
  const since = performance.now();
  const time = new RunningTime();
  const outcomes = await Promise.allSettled(services.map((service) => service.tryAcquire(key, { waitTimeout })));
  const { took, ran } = time.stop();
  // All rounds of a moment compute in this process.
  if (waitTimeout > 0) expect(ran).toBeLessThan(waitTimeout + LATEST + 2 * SPARE);
  const held = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? (outcome.value ?? []) : []));
  await Promise.all(held.map((lock) => lock.release()));
  expect(held.length).toBeLessThanOrEqual(1);
  rounds.served += held.length;
  if (took - ran > SPARE || watch.hasBeenLateSince(since)) {
    if (held.length === 0) rounds.heldUp += 1;
    return;
  }
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}

async function tryTogether(services: readonly LockService[], rounds: number, waitTimeout: number): Promise<Rounds> {
  const result: Rounds = { served: 0, heldUp: 0 };
  await using watch = new Watch();
  let next = 0;
  const play = async (): Promise<void> => {
    for (let round = next++; round < rounds; round = next++) {
      await tryOnce(services, `job:${round}`, { rounds: result, watch }, waitTimeout);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, play));
  return result;
}

describe('clients that try once at the same moment for a free key', () => {
  it.each<[what: string, masters: number, clients: number, distance: Distance, waitTimeout: number]>([
    ['3 masters, 40 ms one way', 3, 3, apart(40), 0],
    ['5 masters, 30 ms one way', 5, 5, apart(30), 0],
    ['one client near all masters, two far away', 3, 3, (client) => 40 * client, 0],
    ['waiting for 100 ms, 20 ms one way', 5, 5, apart(20), 100],
    ['waiting for 500 ms, 40 ms one way', 5, 5, apart(40), 500],
  ])('have one winner, each time: %s', async (_what, masters, clients, distance, waitTimeout) => {
    const rounds = await tryTogether(await clientsAt(masters, clients, distance), 15, waitTimeout);
    expect(rounds.served + rounds.heldUp).toBe(15);
    // A wait is so short that a busy machine may hold up all rounds.
    if (waitTimeout === 0) expect(rounds.served).toBeGreaterThan(0);
  });

  it('lose some round trips to a crashed client that comes first, and not its lease', async () => {
    const services = await clientsAt(3, 4, (client, master) => (client === master + 1 ? 0 : 10));
    const rounds: Rounds = { served: 0, heldUp: 0 };
    await using watch = new Watch();
    for (let round = 0; round < 10; round += 1) {
      // As if it had died when it had reached one master.
      const id = `${'0'.repeat(32)}:${round}`;
      const now = Date.now();
      await bench.masters[0]!.admin.hset(`lock:state:{job:${round}}`, id, `exclusive ${now + 30_000} 1 ${now} ${id}`);
      await bench.masters[0]!.admin.pexpire(`lock:state:{job:${round}}`, 30_000);
      await tryOnce(services, `job:${round}`, { rounds, watch });
      await bench.masters[0]!.admin.del(`lock:state:{job:${round}}`);
    }
    expect(rounds.served + rounds.heldUp).toBe(10);
    expect(rounds.served).toBeGreaterThan(0);
  });
});
