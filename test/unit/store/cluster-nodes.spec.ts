import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { hashSlot } from '../../../lib/keys/index.js';
import { ClusterNodes } from '../../../lib/store/redis/cluster-nodes.js';
import type { Line, ServerAddress } from '../../../lib/store/redis/line.js';
import type { ServersObserver } from '../../../lib/store/redis/servers.js';
import { FakeLine } from './support.js';

const KEY = 'lock:state:{a}';
const [MASTER, REPLICA, OTHER, ANOTHER] = ['10.0.0.1:6379', '10.0.0.2:6379', '10.0.0.3:6379', '10.0.0.4:6379'] as const;
const LAST_SLOTS = [16_382, 16_383] as const;

/** How a node sees the Cluster: the master of the key, and whether its replica is up. */
interface View {
  readonly named: string;
  readonly hasReplica: boolean;
}

/** A Cluster of three masters, of which the first has a replica. Nodes without a view do not answer. */
class FakeCluster {
  readonly views = new Map<string, View>();
  readonly opened: string[] = [];
  /** How another node is named in place of its host name. */
  facts: unknown;
  /** Where the old master redirects to, in place of the address of the new one. */
  redirectsTo: string | undefined;

  everyNode(view: View): void {
    for (const address of [MASTER, REPLICA, OTHER, ANOTHER]) this.views.set(address, view);
  }

  open(at: ServerAddress): Line {
    const address = `${at.host}:${at.port}`;
    this.opened.push(address);
    return new FakeLine({}, async (command) => {
      const view = this.views.get(address);
      if (view === undefined) return new Promise<never>(() => undefined);
      if (command === 'CLUSTER') return this.slots(view);
      if (view.named !== address) throw this.moved(view.named);
      return 0;
    });
  }

  private moved(named: string): Error {
    const error = new Error(`MOVED ${hashSlot(KEY)} ${this.redirectsTo ?? named}`);
    return Object.assign(error, { name: 'ReplyError' });
  }

  private slots({ named, hasReplica }: View): unknown {
    const node = (address: string): [string, number] => [address.split(':')[0]!, 6379];
    const follower = named === MASTER ? REPLICA : MASTER;
    return [
      [0, LAST_SLOTS[0] - 1, node(named), ...(hasReplica ? [node(follower)] : [])],
      [LAST_SLOTS[0], LAST_SLOTS[0], this.facts === undefined ? node(OTHER) : ['?', 6379, 'id', this.facts]],
      [LAST_SLOTS[1], LAST_SLOTS[1], node(ANOTHER)],
    ];
  }
}

const begun: ClusterNodes[] = [];
afterEach(() => begun.splice(0).forEach((nodes) => nodes.close()));

const ignore = (): void => undefined;

async function start(cluster: FakeCluster, reached: ServersObserver['reached'] = ignore): Promise<ClusterNodes> {
  const nodes = new ClusterNodes(
    {
      lines: { silence: 60_000, open: (_observer, at) => cluster.open(at!) },
      named: async () => [{ host: '10.0.0.1', port: 6379 }],
      resolveNat: (at) => at,
    },
    60_000,
    { reached, unreachable: ignore, ended: ignore, replaced: ignore, unconfirmed: ignore },
  );
  begun.push(nodes);
  nodes.open();
  await eventually(() => nodes.known.length === 3 && nodes.known.every(({ commands }) => commands.isReady));
  return nodes;
}

const OLD: View = { named: MASTER, hasReplica: true };
const NEW: View = { named: REPLICA, hasReplica: false };

describe('the confirmation that a silent node is still the master', () => {
  it.each<[isMaster: boolean, how: string, views: ReadonlyArray<[string, View]>]>([
    [
      false,
      'if its replica has taken over, and the other masters do not know it yet',
      [
        [REPLICA, NEW],
        [OTHER, OLD],
        [ANOTHER, OLD],
      ],
    ],
    [false, 'if another master knows of the takeover', [[OTHER, NEW]]],
    [true, 'if its replica follows it', [[REPLICA, OLD]]],
    [true, 'if no node answers in time', []],
  ])('is %s %s', async (isMaster, _how, views) => {
    const cluster = new FakeCluster();
    cluster.everyNode(OLD);
    const nodes = await start(cluster);
    cluster.views.clear();
    for (const [address, view] of views) cluster.views.set(address, view);
    expect(await nodes.confirm(KEY, MASTER)).toBe(isMaster);
  });

  it('is false if a node has taken over that was down when the slots were read', async () => {
    const cluster = new FakeCluster();
    cluster.everyNode(OLD);
    const nodes = await start(cluster);
    cluster.everyNode({ named: MASTER, hasReplica: false });
    await nodes.refresh();
    await eventually(() => cluster.opened.includes(REPLICA));
    cluster.views.delete(MASTER);
    cluster.views.set(REPLICA, NEW);
    expect(await nodes.confirm(KEY, MASTER)).toBe(false);
  });

  it('is false for a node that is known not to serve the slot any more', async () => {
    const cluster = new FakeCluster();
    cluster.everyNode(NEW);
    const nodes = await start(cluster);
    expect(await nodes.confirm(KEY, MASTER)).toBe(false);
  });
});

it('a replica that was connected before it takes over counts as a master that is reached', async () => {
  const cluster = new FakeCluster();
  cluster.everyNode(OLD);
  const reached: Array<boolean | undefined> = [];
  const nodes = await start(cluster, (isMaster) => reached.push(isMaster));
  // The replica is asked about its master.
  expect(await nodes.confirm(KEY, MASTER)).toBe(true);
  reached.length = 0;
  await nodes.refresh();
  cluster.everyNode(NEW);
  await nodes.refresh();
  await nodes.refresh();
  expect(reached).toEqual([false, true, false]);
});

it('what concerns no slot goes to a master that is connected', async () => {
  const cluster = new FakeCluster();
  cluster.everyNode(OLD);
  const nodes = await start(cluster);
  for (const { address, commands } of nodes.known) if (address !== OTHER) commands.line!.close();
  for (let times = 0; times < 20; times++) expect(nodes.of(undefined)!.address).toBe(OTHER);
});

describe('a node without a host name, in a Cluster that prefers host names', () => {
  it.each([
    ['a list', ['ip', '10.0.0.3', 'port', '1']],
    ['a map', { ip: '10.0.0.3' }],
  ])('is reached by its IP address: %s', async (_what, facts) => {
    const cluster = new FakeCluster();
    cluster.facts = facts;
    cluster.everyNode(OLD);
    const nodes = await start(cluster);
    expect(nodes.known.map(({ address }) => address)).toContain(OTHER);
  });

  it('is found in the slots if another node redirects a command to it', async () => {
    const cluster = new FakeCluster();
    cluster.everyNode(OLD);
    const nodes = await start(cluster);
    cluster.everyNode(NEW);
    cluster.redirectsTo = '?:6379';
    expect(await nodes.send('GET', KEY)).toBe(0);
    expect(cluster.opened).not.toContain('?:6379');
  });
});
