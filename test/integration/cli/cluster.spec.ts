import type { LockState } from 'nestjs-redis-locks';
import { cli } from './cli.js';
import { ClusterBench } from '../../../lab/testbed/locks/cluster-bench.js';
import { COMMANDS, IN_CLUSTER } from '../../../lab/testbed/servers/least-privilege.js';
import { aborted } from '../../../lab/testbed/locks/locks.js';
import { checksOfServer, readReport } from './support.js';

const bench = new ClusterBench();

const USER = { username: 'locks', password: 'password' };
afterEach(() => onAllNodes('DELUSER', USER.username));

const onAllNodes = (...command: [string, ...string[]]): Promise<unknown> =>
  Promise.all(bench.cluster.nodes.map(({ admin }) => admin.call('ACL', ...command)));

/** The `connection` of the module, as JSON; one node leads to the others. */
const where = (redisOptions?: object): string =>
  JSON.stringify({ cluster: bench.cluster.addresses.slice(1, 2), ...(redisOptions && { options: { redisOptions } }) });

const run = (...args: string[]) => cli(where(), args);

/** By address, as findings are. */
const mastersInOrder = (): string[] => bench.cluster.addresses.map(({ host, port }) => `${host}:${port}`).sort();

describe('the command line program in a Cluster', () => {
  it('finds locks on every master, shows them, and releases one', async () => {
    const [one, other] = await bench.pair();
    const keys = await bench.cluster.keysOnAllMasters('k', 3);
    const [lock] = await Promise.all(keys.map((key) => one.acquire(key)));
    // The program is started five times meanwhile.
    const waiting = other.acquire(keys[0]!, { waitTimeout: '60s' });
    await bench.untilWaiting(keys[0]!, 1);

    const ls = await run('ls', 'k-*', '--json');
    expect([ls.code, ls.stderr]).toEqual([0, '']);
    expect((JSON.parse(ls.stdout) as LockState[]).map(({ key }) => key)).toEqual([...keys].sort());
    const [inspect, table] = await Promise.all([run('inspect', keys[0]!), run('ls')]);
    expect(inspect).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`${keys[0]}  1 holding, 1 process in the queue`),
    });
    for (const key of keys) expect(table.stdout).toMatch(new RegExp(`^${key} +exclusive `, 'm'));

    expect(await run('release', keys[0]!)).toMatchObject({ code: 3 });
    expect(await run('release', keys[0]!, '--force')).toMatchObject({ code: 0, stderr: '' });
    await aborted(lock!.signal);
    await (await waiting).release();
  });

  it('says why it cannot connect', async () => {
    const [wrong, nobody] = await Promise.all([
      cli(where({ username: 'ann', password: 'secret' }), ['ls', '-t', '2s']),
      cli('{"cluster":["redis://:secret@127.0.0.1:1"]}', ['ls', '-t', '2s']),
    ]);
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringMatching(/the Cluster: Redis failed .*WRONGPASS/)]);
    expect([nobody.code, nobody.stderr]).toEqual([1, expect.stringContaining('the Cluster: Redis failed: ')]);
    expect(wrong.stderr + nobody.stderr).not.toContain('secret');
  });
});

describe('doctor in a Cluster', () => {
  const examined = async (connection = where(), ...args: string[]) =>
    readReport(await cli(connection, ['doctor', '--json', ...args]));

  beforeAll(() => Promise.all(bench.cluster.nodes.map(({ admin }) => admin.config('SET', 'appendonly', 'yes'))));

  it('checks each master, and leaves only tokens and records, which expire', async () => {
    const { code, amiss, findings } = await examined();
    expect([code, amiss]).toEqual([0, []]);
    const checks = checksOfServer('sharded pub/sub', 'slots');
    const onEach = mastersInOrder().flatMap((address) => checks.map((check) => `${address} ${check}`));
    expect(findings.map(({ check }) => check)).toEqual([
      ...onEach,
      'clients',
      'clocks',
      'deadlocks',
      'a lock',
      'features',
    ]);
    const left = await Promise.all(bench.cluster.nodes.map(({ admin }) => admin.keys('*')));
    expect(left.flat().filter((key) => !/^lock:(client|fence|tombstones|counted):/.test(key))).toEqual([]);
  });

  it('finds no problem with the documented permissions and SCAN, and names missing ones', async () => {
    const rules = [...COMMANDS, ...IN_CLUSTER, 'scan', 'config|get', 'pubsub|channels'].map((name) => `+${name}`);
    const names = ['reset', 'on', `>${USER.password}`, '~lock:*', 'resetchannels', '&lock:client:*'];
    await onAllNodes('SETUSER', USER.username, ...names, ...rules);
    expect((await examined(where(USER))).amiss).toEqual([]);

    const missing = ['-asking', '-cluster|info', '-spublish', '-ssubscribe'];
    await bench.cluster.nodes[0]!.admin.call('ACL', 'SETUSER', USER.username, ...missing);
    const { code, amiss } = await examined(where(USER));
    expect(code).toBe(3);
    const [first] = bench.cluster.addresses.map(({ host, port }) => `${host}:${port}`);
    // The locks may be on another master.
    expect(amiss.filter(({ check }) => check !== 'a lock' && check !== 'features')).toEqual([
      expect.objectContaining({
        status: 'problem',
        check: `${first} permissions`,
        advice: 'ACL SETUSER locks +cluster|info +asking +spublish',
      }),
      expect.objectContaining({
        status: 'problem',
        check: `${first} sharded pub/sub`,
        advice: expect.stringContaining('+ssubscribe'),
      }),
    ]);
  });

  it('reports a master that is down, and slots that are not served', async () => {
    const [first, , last] = bench.cluster.nodes;
    await last!.kill();
    const slot = '0';
    await first!.admin.cluster('DELSLOTS', slot);
    const { code, about } = await examined(where(), '-t', '2s');
    await first!.admin.cluster('ADDSLOTS', slot);
    expect(code).toBe(3);
    expect(about(`${last!.host}:${last!.port} connection`)).toMatchObject([{ status: 'problem' }]);
    expect(about(`${first!.host}:${first!.port} slots`)).toMatchObject([
      { status: 'problem', found: expect.stringMatching(/^\d+ of 16384 are served/) },
    ]);
  });

  it('reports a single node of a Cluster', async () => {
    const { code, about } = await examined(bench.cluster.nodes[0]!.url);
    expect([code, about('Cluster')]).toEqual([3, [expect.objectContaining({ status: 'problem' })]]);
  });
});
