// @ts-check
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { assembleScript } from '../../../scripts/lib/lua-source.mjs';
import { ROOT } from '../../../scripts/lib/paths.mjs';

/** @typedef {import('ioredis').Redis} Redis */
/** @typedef {(label: string, call: () => Promise<any>) => Promise<any>} Observe observes one script */
/** @typedef {'exclusive' | 'read' | 'permits'} Kind */
/** @typedef {ReadonlyArray<string | number>} Args */

const SCRIPTS = join(ROOT, 'lua');
const LEASE = 3_600_000;
const AT_A_TIME = 1_000;
const ROLES = ['state', 'queue', 'waiters', 'fence', 'tombstones', 'limit', 'ends'];
/** The end of a request: it waits (1), or it does not (0). Retries are far away. */
const REST = { waits: '0 1 3000 3000000 3000 1', 'does not wait': '0 0 3000 3000000 3000 1' };
const [QUEUED, BUSY, QUEUED_UNSUBSCRIBED] = [0, 2, 5];

/**
 * Runs every script on keys with very many holders and waiters. The clients of some waiters are gone, and stand
 * ahead of the others. The scripts run as they are, without the library.
 */
export class ScriptWalk {
  /** @type {Map<string, string>} */
  #hashes = new Map();
  #redis;
  #sizes;
  #observe;

  /**
   * @param {Redis} redis a connection to an empty server
   * @param {{ readonly holders: number, readonly waiters: number, readonly dead: number }} sizes
   * @param {Observe} observe
   */
  constructor(redis, sizes, observe) {
    this.#redis = redis;
    this.#sizes = sizes;
    this.#observe = observe;
  }

  async run() {
    for (const file of readdirSync(SCRIPTS).filter((name) => name.endsWith('.lua'))) {
      const hash = await this.#redis.script('LOAD', assembleScript(SCRIPTS, file));
      this.#hashes.set(file.replace('.lua', ''), String(hash));
    }
    await this.#observe('start', () => this.#evaluate('start', [], []));
    for (const kind of /** @type {const} */ (['exclusive', 'read', 'permits'])) await this.#walk(kind);
    await this.#loseEnds();
    await this.#endBatches();
    await this.#expire();
    await this.#latch();
  }

  /** @param {Kind} kind */
  async #walk(kind) {
    const { waiters, dead } = this.#sizes;
    const holders = kind === 'exclusive' ? 1 : this.#sizes.holders;
    const mode = kind === 'permits' ? `permits:1/${holders}` : kind;
    const waiting = kind === 'read' ? 'exclusive' : mode;
    const subscriber = this.#redis.duplicate();
    try {
      await this.#hold(kind, holders, mode);
      await this.#queue(subscriber, kind, waiting, { waiters, dead });

      // The clients that are gone stand at the head now.
      await this.#release(kind, 'release, clients at the head gone', 'h0:1');
      await this.#acquire(kind, 'acquire, waits', 'n0:1', waiting, 'waits');
      await this.#acquire(kind, 'acquire, retry in the middle', `w${waiters >> 1}:1`, waiting, 'waits');
      await this.#acquire(kind, 'acquire, retry of a parked client', `d${dead - 1}:1`, waiting, 'waits');
      await this.#acquire(kind, 'acquire, does not wait', 'n1:1', waiting, 'does not wait');
      await this.#release(kind, 'release of a place', `w${waiters - 2}:1`, '10000 0 0');
      if (kind !== 'exclusive') await this.#ofOneOfMany(kind, mode);
      await this.#script(kind, 'limit', 'limit', []);
      await this.#script(kind, 'survey', 'survey', [kind, 'an owner']);
      await this.#inspect(kind);
      const request = this.#request('n3:1', waiting, 'waits');
      await this.#release(kind, 'release with the next request', 'h1:1', '0 0 0', request);
      await this.#release(kind, 'release that keeps the key locked', 'h2:1', '0 5000 0');
      if (kind === 'permits') await this.#permits(kind, holders);
      await this.#forceRelease(kind);
    } finally {
      subscriber.disconnect();
    }
  }

  /**
   * Scripts about one of many holds.
   * @param {Kind} kind
   * @param {string} mode
   */
  async #ofOneOfMany(kind, mode) {
    const state = `lock:state:{${kind}}`;
    const keys = Array.from({ length: 48 }, () => state);
    const leases = keys.flatMap((_, i) => [`h${10 + i}:1`, LEASE]);
    await this.#observe(`${kind}: renew, 48 holds`, () => this.#evaluate('renew', keys, leases));
    await this.#observe(`${kind}: confirm`, () => this.#evaluate('confirm', [state], ['h10:1']));
    await this.#script(kind, 'hand-over, offer', 'hand-over', [this.#address(kind), 'h12:1', 'offer:1', 5_000]);
    await this.#script(kind, 'hand-over, adoption', 'hand-over', [this.#address(kind), 'offer:1', 'a0:1', LEASE]);
    await this.#script(kind, 'fence', 'fence', ['h13:1', 1_000, 4]);
    await this.#script(kind, 'reinstate', 'reinstate', ['r0:1', mode, '', 60_000, 0, 1_000, 4]);
    await this.#script(kind, 'acquire-all', 'acquire-all', this.#request('n2:1', mode, 'does not wait'));
  }

  /** @param {Kind} kind @param {number} holders */
  async #permits(kind, holders) {
    const address = this.#address(kind);
    const version = '9999999999999999';
    const place = await this.#script(kind, 'set-limit, grants', 'set-limit', [address, holders + 100, version]);
    await this.#release(kind, 'release that grants the rest', 'nobody:1', `0 0 ${Math.max(0, Number(place))}`);
    const change = [address, 'call', 100, holders, Date.now() + 60_000];
    const [, from] = await this.#script(kind, 'add-limit, grants', 'add-limit', change);
    await this.#release(kind, 'release that grants the rest', 'nobody:1', `0 0 ${Math.max(0, from)}`);
    await this.#script(kind, 'keep-units', 'keep-units', [address, 'h20:1', 1, 0]);
  }

  /** @param {Kind} kind */
  async #forceRelease(kind) {
    const ids = Array.from({ length: 10 }, (_, i) => `h${30 + i}:1`);
    const texts = await this.#redis.hmget(`lock:state:{${kind}}`, ...ids.map((id) => `+${id}`));
    const named = ids.flatMap((id, i) => (texts[i] ? [id, String(texts[i]).split(' ')[4] ?? ''] : []));
    await this.#script(kind, 'force-release, 10 holds', 'force-release', [this.#address(kind), 10_000, '-', ...named]);
  }

  /** @param {Kind} kind */
  async #inspect(kind) {
    let [page, place] = ['0', '0'];
    for (let pages = 0; (page !== '' || place !== '') && pages < 20; pages++) {
      const reply = await this.#script(kind, 'inspect', 'inspect', [page, place, 48]);
      [page, place] = reply.slice(-2);
    }
  }

  /** The ends of the leases have got lost. */
  async #loseEnds() {
    for (const kind of /** @type {const} */ (['read', 'permits'])) {
      await this.#redis.del(`lock:ends:{${kind}}`);
      await this.#release(kind, 'release, ends lost', 'nobody:1');
    }
  }

  /** Another request arrives while one client has very many uncontended batches of permits. */
  async #endBatches() {
    const count = 10 * this.#sizes.holders;
    const mode = `permits:1/${count}`;
    const request = (/** @type {number} */ i) => [`m:${i}`, mode, '', LEASE, 1_000, REST['does not wait']];
    await this.#inParallel(count, (i) => this.#lock('acquire', 'batches', [this.#address('batches'), ...request(i)]));
    for (const id of ['m:w', 'n0:1']) {
      const waiting = [this.#address('batches'), ...this.#request(id, mode, 'waits')];
      await this.#script('batches', 'acquire, waits behind batches', 'acquire', waiting);
    }
  }

  /** All leases but one are over at once. */
  async #expire() {
    const { holders } = this.#sizes;
    const lease = 3_000 + holders / 2;
    await this.#hold('expired', 1, 'read');
    await this.#hold('expired', holders, 'read', lease, 'e');
    const last = (await this.#redis.zrange('lock:ends:{expired}', -2, '-2', 'WITHSCORES'))[1] ?? '0';
    for (let now = 0; now <= Number(last);) now = Number((await this.#redis.time())[0]) * 1_000;
    await this.#acquire('expired', 'acquire, leases over', 'n0:1', 'exclusive', 'does not wait');
  }

  /** A latch with a waiter is counted down, opens, and the next one is deleted. */
  async #latch() {
    const [latch, counted] = ['lock:latch:{l}', 'lock:counted:{l}'];
    /** @param {string} name @param {Args} args */
    const run = (name, args, keys = [latch, counted]) =>
      this.#observe(`latch: ${name}`, () => this.#evaluate(name, keys, args));
    await run('latch-set', ['one', 2, LEASE, LEASE]);
    await run('latch-confirm', ['one'], [counted]);
    await run('latch-count', ['w0', LEASE, 'one']);
    await run('latch-count-down', [this.#address('l'), 'c0', LEASE]);
    await run('latch-count-down', [this.#address('l'), 'c1', LEASE]);
    await run('latch-count', ['w0', LEASE, 'one']);
    await run('latch-set', ['two', 2, LEASE, LEASE]);
    await run('latch-delete', ['d0', 'two', LEASE]);
  }

  /** @param {string} key @param {number} count @param {string} mode */
  async #hold(key, count, mode, lease = LEASE, client = 'h') {
    const request = (/** @type {number} */ i) => this.#request(`${client}${i}:1`, mode, 'does not wait', lease);
    await this.#inParallel(count, (i) => this.#lock('acquire', key, [this.#address(key), ...request(i)]));
  }

  /**
   * Clients join the queue. The first ones are gone after that.
   * @param {Redis} subscriber
   * @param {string} key
   * @param {string} mode
   * @param {{ waiters: number, dead: number }} sizes
   */
  async #queue(subscriber, key, mode, { waiters, dead }) {
    const gone = Array.from({ length: dead }, (_, i) => `d${i}`);
    const clients = [...gone, ...Array.from({ length: waiters }, (_, i) => `w${i}`)];
    await subscriber.subscribe(...[...clients, 'n0', 'n3'].map((client) => `lock:client:${client}`));
    await this.#inParallel(clients.length, (i) => {
      return this.#lock('acquire', key, [this.#address(key), ...this.#request(`${clients[i]}:1`, mode, 'waits')]);
    });
    await subscriber.unsubscribe(...gone.map((client) => `lock:client:${client}`));
  }

  /** @param {number} count @param {(i: number) => Promise<unknown>} call */
  async #inParallel(count, call) {
    for (let from = 0; from < count; from += AT_A_TIME) {
      await Promise.all(Array.from({ length: Math.min(AT_A_TIME, count - from) }, (_, i) => call(from + i)));
    }
  }

  /**
   * Releases, and continues as a client does.
   * @param {Kind} key
   * @param {string} label
   * @param {string} id
   * @param {Args} next
   */
  async #release(key, label, id, how = '0 0 0', next = []) {
    let reply = await this.#script(key, label, 'release', [this.#address(key), id, how, ...next]);
    let place = Array.isArray(reply) ? Number(reply[next.length > 0 ? 3 : 1]) : -1;
    while (place >= 0) {
      reply = await this.#script(key, label, 'release', [this.#address(key), id, `0 0 ${place}`]);
      place = Array.isArray(reply) ? Number(reply[1]) : -1;
    }
  }

  /**
   * Acquires, and continues as a client does.
   * @param {string} key
   * @param {string} label
   * @param {string} id
   * @param {string} mode
   * @param {keyof typeof REST} waits
   */
  async #acquire(key, label, id, mode, waits) {
    const request = this.#request(id, mode, waits);
    for (let place = 0; place >= 0;) {
      const rest = String(request.at(-1)).replace(/^\d+/, String(place));
      const args = [this.#address(key), ...request.slice(0, -1), rest];
      const reply = await this.#script(key, label, 'acquire', args);
      place = [QUEUED, BUSY, QUEUED_UNSUBSCRIBED].includes(Number(reply[0])) ? Number(reply[2]) : -1;
    }
  }

  /** @param {string} id @param {string} mode @param {keyof typeof REST} waits */
  #request(id, mode, waits, lease = LEASE) {
    return [id, mode, '', lease, 1, REST[waits]];
  }

  /** @param {string} key */
  #address(key) {
    return `lock:client:\n${key}`;
  }

  /**
   * @param {string} key
   * @param {string} label
   * @param {string} name
   * @param {Args} args
   */
  #script(key, label, name, args) {
    return this.#observe(`${key}: ${label}`, () => this.#lock(name, key, args));
  }

  /**
   * @param {string} name
   * @param {string} key
   * @param {Args} args
   * @returns {Promise<any>}
   */
  #lock(name, key, args) {
    return this.#evaluate(
      name,
      ROLES.map((role) => `lock:${role}:{${key}}`),
      args,
    );
  }

  /** @param {string} name @param {readonly string[]} keys @param {Args} args */
  #evaluate(name, keys, args) {
    return this.#redis.evalsha(this.#hashes.get(name) ?? '', keys.length, ...keys, ...args);
  }
}
