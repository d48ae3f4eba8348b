import { connect } from 'node:net';
import { once } from 'node:events';
import type { Redis, RedisOptions } from 'ioredis';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { startRedis, type RedisServer } from '../../../lab/testbed/servers/redis-server.mjs';
import { RespProxy } from '../../../lab/testbed/proxies/resp-proxy.mjs';

describe.each([3, 2] as const)('RespProxy with RESP%i', (protocol) => {
  let redis: RedisServer;
  let proxy: RespProxy;

  beforeAll(async () => {
    redis = await startRedis();
  });

  afterAll(() => redis.stop());

  beforeEach(async () => {
    await redis.admin.flushall();
    proxy = await RespProxy.start(redis);
  });

  afterEach(() => proxy.close());

  /** A client behind the proxy that has said hello. */
  const connected = async (options: RedisOptions = {}): Promise<Redis> => {
    const client = redis.client({ port: proxy.port, protocol, retryStrategy: () => 10, ...options });
    await client.ping();
    return client;
  };

  /**
   * A client that does not send unanswered commands again (with `autoResendUnfulfilledCommands: false` it would hang).
   */
  const connectedOnce = (): Promise<Redis> => connected({ maxRetriesPerRequest: 0 });

  const outcome = async (promise: Promise<unknown>): Promise<unknown> =>
    promise.catch((error: Error) => `failed: ${error.message}`);

  it('speaks the protocol that was asked for', async () => {
    await connected();
    const greetings = proxy.commands.filter(({ name }) => name === 'hello').map(({ args }) => args[0]);
    expect(greetings).toEqual(protocol === 3 ? ['3'] : []);
  });

  it('cuts after a command has been executed and before its reply is there', async () => {
    const client = await connectedOnce();
    const fault = proxy.cutAfterCommand({ names: ['incr'], nth: 2 });
    const replies = [client.incr('n'), client.get('n'), client.incr('n'), client.get('n')].map(outcome);
    const closed = expect.stringContaining('failed');
    expect(await Promise.all(replies)).toEqual([1, '1', closed, closed]);
    expect((await fault.happened).args).toEqual(['n']);
    expect(await redis.admin.get('n')).toBe('2');
    expect(await client.incr('n')).toBe(3);
  });

  it('cuts before a command reaches the server', async () => {
    const client = await connectedOnce();
    const fault = proxy.cutBeforeCommand(({ name }) => name === 'incr');
    expect(await outcome(client.incr('n'))).toContain('failed');
    await fault.happened;
    expect(await redis.admin.get('n')).toBeNull();
  });

  it('finds the reply of a command among pushes', async () => {
    const subscriber = await connectedOnce();
    const received: string[] = [];
    subscriber.on('message', (_channel, message) => received.push(message));
    await subscriber.subscribe('a', 'b');
    for (let i = 0; i < 20; i++) await redis.admin.publish('a', String(i));
    // A subscriber may ask for more than PING only in RESP3.
    const replies = Array.from({ length: 20 }, () => (protocol === 3 ? subscriber.incr('n') : subscriber.ping()));
    const published = Array.from({ length: 20 }, (_, i) => redis.admin.publish('b', String(i)));
    await Promise.all([...replies, ...published]);
    expect(received).toHaveLength(40);

    proxy.cutAfterCommand({ names: ['unsubscribe'] });
    const last = [subscriber.ping(), subscriber.unsubscribe('a')].map(outcome);
    expect(await Promise.all(last)).toEqual([
      protocol === 3 ? 'PONG' : ['pong', ''],
      expect.stringContaining('failed'),
    ]);
  });

  it('knows the subscribers', async () => {
    const [client, subscriber] = [await connectedOnce(), await connected({ autoResubscribe: false })];
    await subscriber.subscribe('a');
    expect(proxy.openConnections.map(({ channels }) => channels)).toEqual([[], ['a']]);
    const closed = once(subscriber, 'close');
    proxy.cutAll(({ isSubscriber }) => isSubscriber);
    await closed;
    expect(await client.ping()).toBe('PONG');
    expect(proxy.commands.filter(({ connection }) => connection === 1).at(-1)?.name).toBe('ping');
  });

  it.each([
    ['replies', 1],
    ['requests', 0],
  ] as const)('loses %s, and cuts a connection that has lost some when healed', async (what, executed) => {
    const client = await connectedOnce();
    const drop = () => (what === 'replies' ? proxy.dropReplies() : proxy.dropRequests());
    drop();
    proxy.heal();
    expect(await client.incrby('n', 10)).toBe(10);
    drop();
    const reply = outcome(client.incr('n'));
    // That a command was executed says nothing of the reply, which is on its way to the proxy yet.
    await eventually(() => proxy.openConnections.some(({ id, hasGap }) => id === 1 && hasGap));
    proxy.heal();
    expect(await reply).toContain('failed');
    expect(await client.incrby('n', 10)).toBe(20 + executed);
  });

  it('partitions the chosen connections only', async () => {
    const [one, other] = [await connected(), await connected()];
    proxy.dropReplies(({ id }) => id === 1);
    const reply = one.incr('n');
    expect(await other.ping()).toBe('PONG');
    await eventually(async () => (await redis.admin.get('n')) === '1');
    proxy.heal();
    expect(await reply).toBe(2);
  });

  it('delays replies and delivers them in order', async () => {
    const client = await connectedOnce();
    proxy.holdReplies();
    const replies = [client.incr('n'), client.incr('n')];
    await eventually(async () => (await redis.admin.get('n')) === '2');
    proxy.heal();
    expect(await Promise.all(replies)).toEqual([1, 2]);
  });

  it('delays requests and executes them in order', async () => {
    const client = await connectedOnce();
    proxy.holdRequests();
    const replies = [client.append('text', 'a'), client.append('text', 'b')];
    await proxy.seen({ names: ['append'], nth: 2 });
    await redis.admin.set('text', '-');
    proxy.heal();
    expect(await Promise.all(replies)).toEqual([2, 3]);
    expect(await redis.admin.get('text')).toBe('-ab');
  });

  it('closes towards the client, and still forwards its commands to the server', async () => {
    const socket = connect({ host: proxy.host, port: proxy.port, allowHalfOpen: true });
    await once(socket, 'connect');
    await eventually(() => proxy.openConnections.length > 0);
    const ended = once(socket.resume(), 'end');
    proxy.endReplies();
    await ended;
    socket.end('SET sent late\r\n');
    await eventually(async () => (await redis.admin.get('sent')) === 'late');
  });

  it('closes towards the server without notice to the client', async () => {
    const client = await connectedOnce();
    const id = await client.client('ID');
    proxy.goDeaf(() => true, { serverNotices: true });
    await eventually(async () => !String(await redis.admin.client('LIST')).includes(`id=${id} `));
    const asked = outcome(client.set('lost', 1));
    expect(client.status).toBe('ready');
    proxy.heal();
    expect(await asked).toMatch(/^failed/);
    expect(await redis.admin.get('lost')).toBeNull();
  });

  it('delivers the reply after the client has ended its side', async () => {
    const socket = connect({ host: proxy.host, port: proxy.port, allowHalfOpen: true });
    socket.end('PING one\r\nPING two\r\n');
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk as Buffer);
    expect(Buffer.concat(chunks).toString()).toBe('$3\r\none\r\n$3\r\ntwo\r\n');
    await eventually(() => proxy.openConnections.length === 0);
  });
});
