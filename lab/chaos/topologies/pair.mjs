import { setTimeout as sleep } from 'node:timers/promises';

/** How often, in ms, servers are asked for their roles. */
const EVERY = 25;
/** ms after which a server that is asked how it is does not answer. */
const PATIENCE = 1_000;

/**
 * A master and its replica. The two servers may exchange their roles. A fault of this pair strikes the present master.
 */
export class Pair {
  #servers;
  #master;
  #struck;
  /** For each server its role, and when it was last asked and said that it is a replica. */
  #roles = new Map();
  #watching = false;
  #now = () => performance.now();

  /** Called with a replica that has become a master. */
  promoted = () => undefined;

  constructor(master, replica) {
    this.#servers = [master, replica];
    this.#master = master;
  }

  get servers() {
    return this.#servers;
  }

  get master() {
    return this.#master;
  }

  get replica() {
    return this.otherThan(this.#master);
  }

  get admin() {
    return this.#master.admin;
  }

  otherThan(server) {
    return this.#servers.find((each) => each !== server);
  }

  /** From now on this one is the master. */
  lead(server) {
    this.#master = server;
  }

  /** Asks which of the two is the master: a server that was master only for a moment may have been missed. */
  async recognise() {
    for (const server of this.#servers) {
      if ((await server.admin.info('replication')).includes('role:master')) this.lead(server);
    }
  }

  /** The replication state that each of them reports. */
  roles() {
    return Promise.all(
      this.#servers.map(async ({ admin, port }) => `${port}: ${await said(() => admin.info('replication'))}`),
    );
  }

  pause() {
    this.#struck = this.#master;
    return this.#struck.pause();
  }

  resume() {
    return this.#struck.resume();
  }

  kill() {
    this.#struck = this.#master;
    return this.#struck.kill();
  }

  start(options) {
    return this.#struck.start(options);
  }

  /** The replica no longer receives the writes of the master; connections to clients stay. */
  async cutReplication() {
    await this.replica.admin.config('SET', 'masteruser', 'nobody');
    await this.replica.admin.config('SET', 'masterauth', 'wrong');
    await this.#master.admin.call('CLIENT', 'KILL', 'TYPE', 'replica');
  }

  async mendReplication() {
    for (const { admin } of this.#servers) {
      await admin.config('SET', 'masteruser', '');
      await admin.config('SET', 'masterauth', '');
      // Where a Sentinel has had its role written down, that was written down, too; others have no file.
      await admin.config('REWRITE').catch(() => undefined);
    }
  }

  /** Begins to ask for roles, by the clock of the history. */
  watch(now) {
    this.#now = now;
    this.#watching = true;
    for (const server of this.#servers) void this.#follow(server);
  }

  /** When a server last said that it is a replica; `undefined`: never. */
  replicaAt(server) {
    return this.#roles.get(server)?.replicaAt;
  }

  /** Resolves as soon as a server is no master any more, or the watch has ended. */
  async untilDemoted(server) {
    while (this.#watching && this.#roles.get(server)?.role !== 'slave') await sleep(EVERY);
  }

  async stop() {
    this.#watching = false;
    await Promise.all(this.#servers.map((server) => server.stop()));
  }

  async #follow(server) {
    while (this.#watching) {
      const asked = this.#now();
      // While it is away the answer is awaited.
      const info = await server.admin.info('replication').catch(() => '');
      const role = /^role:(\w+)/m.exec(info)?.[1];
      const before = this.#roles.get(server);
      if (role !== undefined)
        this.#roles.set(server, { role, replicaAt: role === 'slave' ? asked : before?.replicaAt });
      if (before?.role === 'slave' && role === 'master') this.promoted(server);
      await sleep(EVERY);
    }
  }
}

/**
 * Writes down each failover, of any cause: `begin` as soon as clients may find another master, `end` when the old one
 * acknowledges nothing any more.
 */
export class FailoverNotes {
  #history;
  #count = 0;

  constructor(history) {
    this.#history = history;
  }

  /**
   * `next` is the master of its pair from now on. `details` go into the history as they are. `oldReturns`: the old one serves
   * again if it was killed and is started.
   */
  async note(pair, next, details, oldReturns = false) {
    const id = ++this.#count;
    const old = pair.otherThan(next);
    pair.lead(next);
    // At that moment the new master was certainly a replica.
    const from = pair.replicaAt(next) ?? 0;
    this.#history.note('failover', { id, phase: 'begin', from, ...details });
    if (old.isRunning || oldReturns) await pair.untilDemoted(old);
    this.#history.note('failover', { id, phase: 'end' });
  }
}

/** The answer of a server, as a text; also that it does not answer, or why it refuses. */
export async function said(question) {
  const answer = question().catch((error) => error);
  return String(await Promise.race([answer, sleep(PATIENCE, 'no answer')]));
}
