// The floor of the protocol: only the scripts and messages of nestjs-redis-locks. It does not renew or retry, serves
// its own callers one by one through Redis, and relies on every message.
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Command } from 'ioredis';
import { assembleScript } from '../../scripts/lib/lua-source.mjs';

const LUA = fileURLToPath(new URL('../../lua', import.meta.url));
const HEADS = ['state', 'queue', 'waiters', 'fence', 'tombstones', 'limit', 'ends'].map((role) => `lock:${role}:`);
const CHANNEL = 'lock:client:';
const LEASE = 30_000;
const [QUEUED, HELD] = [0, 1];

export default {
  title: 'its scripts alone',
  waits: true,
  variants: {
    defaults: {
      about: 'the scripts and messages of nestjs-redis-locks over ioredis, and nothing around them',
      settings: { waits: 1 },
    },
    evalsha: {
      about: "the same scripts, sent with ioredis' `evalsha` instead of the library's own encoder",
      settings: { waits: 1, isPlain: true },
      waits: false,
    },
    once: { hidden: true, settings: { waits: 0 } },
  },

  async open({ connection, settings }) {
    const [redis, listener] = [connection.redis(), connection.redis()];
    const load = (file) => redis.script('LOAD', assembleScript(LUA, file));
    const [acquire, release] = [await load('acquire.lua'), await load('release.lua')];
    const id = randomBytes(16).toString('hex');
    const waiting = new Map();
    let count = 0;
    listener.on('message', (_channel, message) => {
      const [word, granted] = message.split(' ', 2);
      if (word === 'granted') waiting.get(granted)?.();
    });
    await listener.ping(); // ioredis may lose a subscription that is made before it is ready
    await listener.subscribe(CHANNEL + id);
    const run = (sha, key, ...rest) => {
      const args = [`${CHANNEL}\n${key}`, ...rest];
      return settings.isPlain
        ? redis.evalsha(sha, HEADS.length, ...HEADS.map((head) => `${head}{${key}}`), ...args)
        : redis.sendCommand(new ScriptCommand(sha, key, args));
    };
    return {
      async acquire(key) {
        const handle = { key, id: `${id}:${++count}` };
        const turn = new Promise((resolve) => waiting.set(handle.id, resolve));
        const request = `0 ${settings.waits} 30000 60000 ${LEASE} 200 `;
        const reply = await run(acquire, key, handle.id, 'exclusive', '', LEASE, 1000, request);
        const code = Array.isArray(reply) ? reply[0] : HELD;
        if (code === QUEUED) await turn;
        waiting.delete(handle.id);
        return code === QUEUED || code === HELD ? handle : undefined;
      },
      async release({ key, id }) {
        const reply = await run(release, key, id, '0 0 0');
        if ((Array.isArray(reply) ? reply[0] : reply) !== 1) throw new Error(`${key} was not held`);
      },
      async close() {
        listener.disconnect();
        redis.disconnect();
      },
    };
  },
};

const bulk = (text) => `$${Buffer.byteLength(text)}\r\n${text}\r\n`;

/** Encoded like the commands of the library, which takes half the time of encoding each argument. */
class ScriptCommand extends Command {
  constructor(sha, key, args) {
    super('evalsha', [], { replyEncoding: 'utf8' });
    this.call = { sha, name: `{${key}}`, args };
  }

  toWritable() {
    const { sha, name, args } = this.call;
    const bytes = Buffer.byteLength(name);
    let wire = `*${args.length + HEADS.length + 3}\r\n${bulk('evalsha')}${bulk(sha)}${bulk(String(HEADS.length))}`;
    for (const head of HEADS) wire += `$${head.length + bytes}\r\n${head}${name}\r\n`;
    for (const arg of args) wire += bulk(String(arg));
    return wire;
  }
}
