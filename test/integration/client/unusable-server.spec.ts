import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { createClient, createCluster } from 'redis';
import { createLockClient, type LockClient, type LockClientOptions } from 'nestjs-redis-locks/client';
import { ClusterBench } from '../../../lab/testbed/locks/cluster-bench.js';
import { LockBench, startRedis, eventually, SILENT } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();
const cluster = new ClusterBench();
const clients: LockClient[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

async function start(connection: LockClientOptions['connection'], commandTimeout = 5_000): Promise<LockClient> {
  const client = await createLockClient(
    { connection: connection!, commandTimeout, shutdownTimeout: 0 },
    { logger: SILENT },
  );
  clients.push(client);
  return client;
}

describe('a database that the server refuses', () => {
  it('stops the start', async () => {
    const { host, port, url } = bench.redis;
    const refusal = { code: 'LOCK_CONFIG', message: expect.stringMatching(/refuses database 99.*out of range.*db: 0/) };
    await expect(start(`${url}/99`)).rejects.toMatchObject(refusal);
    await expect(start({ host, port, db: 99 })).rejects.toMatchObject(refusal);
    await expect(start(bench.redis.client({ db: 99, lazyConnect: true }))).rejects.toMatchObject(refusal);
    await expect(start([`${url}/1`, `${url}/99`, 'redis://127.0.0.1:1'])).rejects.toMatchObject(refusal);
    expect(await bench.redis.admin.dbsize()).toBe(0);
  });

  it('is never replaced by database 0, even after a reconnect', async () => {
    const { admin, host, port } = bench.redis;
    await admin.acl('SETUSER', 'app', 'on', '>secret', '+@all', '~*', '&*');
    const login = { username: 'app', password: 'secret' };
    const locks = await start({ host, port, ...login, db: 2, enableReadyCheck: false }, 500);
    const lock = await locks.acquire('a');
    await admin.acl('SETUSER', 'app', '-select');
    await admin.client('KILL', 'USER', 'app');
    await expect(locks.acquire('b')).rejects.toMatchObject({
      code: 'LOCK_STORE',
      message: expect.stringContaining('select'),
    });
    expect(await admin.dbsize()).toBe(0);
    await admin.acl('SETUSER', 'app', '+select');
    await eventually(() => lock.verify().then(() => true), { within: 10_000 });
    expect(await lock.release()).toBe(true);
  });
});

it('a server that was reached and does not answer with TLS says so', async () => {
  const url = bench.redis.url.replace('redis:', 'rediss:');
  for (const connection of [url, createClient({ url })]) {
    await expect(start(connection, 1_000)).rejects.toMatchObject({
      code: 'LOCK_STORE',
      message: expect.stringMatching(/does not answer with TLS: write redis:/),
    });
  }
});

const refuses = (connection: unknown, message: RegExp, commandTimeout?: number): Promise<void> =>
  expect(start(connection as LockClientOptions['connection'], commandTimeout)).rejects.toMatchObject({
    code: 'LOCK_STORE',
    message: expect.stringMatching(message),
  });

it('so do the nodes of a Cluster, and Sentinels', async () => {
  const { host, port } = bench.redis;
  const [node] = cluster.cluster.addresses;
  const withTls = /does not answer with TLS: write redis:/;
  const ofNodeRedis = createCluster({ rootNodes: [{ socket: node }], defaults: { socket: { tls: true } } });
  await Promise.all([
    refuses({ cluster: [node], options: { redisOptions: { tls: {} } } }, withTls, 10_000),
    refuses(ofNodeRedis, withTls, 10_000),
    refuses({ sentinels: [{ host, port }], name: 'main', sentinelTLS: {} }, withTls, 10_000),
  ]);
});

it('a server that may expect TLS, or be in protected mode, says so', async () => {
  const files = new URL('../../../lab/testbed/servers/tls/', import.meta.url);
  const [key, cert] = ['key.pem', 'cert.pem'].map((name) => readFileSync(new URL(name, files)));
  const server = createServer({ key, cert }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (const connection of [url, createClient({ url })]) {
    await refuses(
      connection,
      /closed the connection before it answered.*: if it expects TLS, write rediss:.*protected mode/,
      500,
    );
  }
  server.close();
});

it('a server that does not answer is named', async () => {
  await using redis = await startRedis({ args: ['--unixsocket', 'redis.sock'] });
  const { host, port, url } = redis;
  await redis.pause();
  const silent = new RegExp(
    `${host}:${port} accepts connections and does not answer: if it expects TLS, write rediss:`,
  );
  const path = `${redis.directory}/redis.sock`;
  await Promise.all([
    refuses(url, silent, 500),
    refuses({ path }, new RegExp(`: ${path} accepts connections and does not answer`), 500),
    refuses({ cluster: [{ host, port }] }, silent, 1_500),
    refuses({ sentinels: [{ host, port }], name: 'main' }, silent, 10_000),
  ]);
  await redis.resume();
});

it('a login function that does not resolve is named', async () => {
  const { host, port } = bench.redis;
  const credentials = (): Promise<never> => new Promise(() => undefined);
  const message = /connection\.credentials has returned no login yet/;
  await refuses({ host, port, credentials }, message, 500);
  const nodes = cluster.cluster.addresses;
  await refuses({ cluster: nodes, options: { redisOptions: { credentials } } }, message, 1_500);
});

it('a server that accepts no more connections says so', async () => {
  await using redis = await startRedis();
  await redis.admin.config('SET', 'maxclients', '1');
  for (const connection of [redis.url, createClient({ url: redis.url })]) {
    await expect(start(connection, 500)).rejects.toMatchObject({
      code: 'LOCK_STORE',
      message: expect.stringMatching(
        /max number of clients reached.*raise its maxclients|raise its maxclients.*max number/,
      ),
    });
  }
});

describe('a node of a Cluster as one server', () => {
  it('stops the start', async () => {
    const [node] = cluster.cluster.nodes;
    const refusal = {
      code: 'LOCK_CONFIG',
      message: expect.stringMatching(/one node of a Cluster.*connection: { cluster:/),
    };
    for (const connection of [node!.url, node!.client()]) {
      await expect(start(connection)).rejects.toMatchObject(refusal);
    }
  });
});

describe('a login function that returns no login', () => {
  it('stops the start in a Cluster', async () => {
    const redisOptions = { credentials: () => ({ password: 1 }) };
    const started = start({
      cluster: cluster.cluster.addresses,
      options: { redisOptions },
    } as unknown as LockClientOptions['connection']);
    await expect(started).rejects.toMatchObject({
      code: 'LOCK_CONFIG',
      message: expect.stringContaining('credentials returned a login whose password is'),
    });
  });
});
