// @ts-check
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';

const HOST = '127.0.0.1';
const NO_SCRIPT = Buffer.from('0'.repeat(40));

/**
 * A Redis server whose clock is ahead or behind: a proxy before a real one that changes scripts on their way, so that they
 * see another time. Only what comes through it is changed. The library sees the time in scripts, `TIME` and `INFO` alone.
 */
export class SkewedMaster {
  /** Hash of a script as it was sent, and of what was made of it. @type {Map<string, Buffer>} */
  #scripts = new Map();
  /** @type {Set<import('node:net').Socket>} */
  #sockets = new Set();
  #server = createServer({ noDelay: true }, (client) => this.#connected(client));
  #skew;
  #target;

  /**
   * @param {number} target port of the server on this machine
   * @param {number} skew ms that the clock is ahead; negative: behind
   */
  constructor(target, skew) {
    this.#target = target;
    this.#skew = skew;
  }

  /**
   * @param {{ readonly port: number }} server
   * @param {number} [skew] ms that the clock is ahead; negative: behind
   */
  static async start({ port }, skew = 0) {
    const master = new SkewedMaster(port, skew);
    master.#server.listen(0, HOST);
    await once(master.#server, 'listening');
    return master;
  }

  get host() {
    return HOST;
  }

  /** @returns {number} */
  get port() {
    return /** @type {import('node:net').AddressInfo} */ (this.#server.address()).port;
  }

  get url() {
    return `redis://${HOST}:${this.port}`;
  }

  get skew() {
    return this.#skew;
  }

  /** Steps the clock: by how many ms it is ahead from now on. @param {number} ms */
  setSkew(ms) {
    this.#skew = ms;
    this.#scripts.clear();
  }

  async close() {
    for (const socket of this.#sockets) socket.destroy();
    if (!this.#server.listening) return;
    this.#server.close();
    await once(this.#server, 'close');
  }

  async [Symbol.asyncDispose]() {
    await this.close();
  }

  /** @param {import('node:net').Socket} client */
  #connected(client) {
    const server = connect({ host: HOST, port: this.#target, noDelay: true });
    let rest = Buffer.alloc(0);
    client.on('data', (chunk) => {
      rest = Buffer.concat([rest, chunk]);
      for (let command; (command = readCommand(rest)) !== undefined; rest = rest.subarray(command.length)) {
        server.write(writeCommand(this.#changed(command.parts)));
      }
    });
    server.pipe(client);
    /** @type {Array<[import('node:net').Socket, import('node:net').Socket]>} */
    const ways = [
      [client, server],
      [server, client],
    ];
    for (const [one, other] of ways) {
      this.#sockets.add(one);
      one.on('error', () => undefined);
      one.on('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
    }
  }

  /** @param {Buffer[]} parts */
  #changed(parts) {
    const [name, script, ...rest] = /** @type {[Buffer, Buffer, ...Buffer[]]} */ (parts);
    switch (name.toString().toLowerCase()) {
      case 'eval': {
        const text = Buffer.from(prologue(this.#skew) + script.toString());
        this.#scripts.set(sha1(script), Buffer.from(sha1(text)));
        return [name, text, ...rest];
      }
      case 'evalsha':
        // One that the server knows from elsewhere would see the true time.
        return [name, this.#scripts.get(script.toString().toLowerCase()) ?? NO_SCRIPT, ...rest];
      case 'time':
        return evaluation(`${prologue(this.#skew)}return redis.call('TIME')`);
      case 'info':
        return evaluation(prologue(this.#skew) + INFO, parts.slice(1));
      default:
        return parts;
    }
  }
}

/** Stands on the first line of a script, before what is there. @param {number} skew */
const prologue = (skew) => `local redis = (function(real)
  local fake = setmetatable({}, { __index = real })
  function fake.call(name, ...)
    local command = string.upper(name)
    if command == 'TIME' then
      local time = real.call('TIME')
      local micros = time[1] * 1000000 + time[2] + ${skew} * 1000
      return { string.format('%.0f', math.floor(micros / 1000000)), string.format('%.0f', micros % 1000000) }
    elseif command == 'PEXPIREAT' then
      local key, at = ...
      return real.call(name, key, string.format('%.0f', at - ${skew}))
    end
    return real.call(name, ...)
  end
  return fake
end)(redis) `;

const INFO = `
local time = redis.call('TIME')
local micros = string.format('%.0f', time[1] * 1000000 + time[2])
return (string.gsub(redis.call('INFO', unpack(ARGV)), 'server_time_usec:%d+', 'server_time_usec:' .. micros))`;

/** @param {string} script @param {Buffer[]} [args] */
const evaluation = (script, args = []) => [...['eval', script, '0'].map((part) => Buffer.from(part)), ...args];

/** @param {Buffer} data */
const sha1 = (data) => createHash('sha1').update(data).digest('hex');

/** The first command of some bytes, and how many of them it takes; `undefined`: it is not complete. @param {Buffer} bytes */
function readCommand(bytes) {
  const head = lineAt(bytes, 0);
  if (head === undefined) return undefined;
  const parts = [];
  let at = head.next;
  for (let i = Number(head.text.slice(1)); i > 0; i -= 1) {
    const size = lineAt(bytes, at);
    if (size === undefined) return undefined;
    const end = size.next + Number(size.text.slice(1));
    if (bytes.length < end + 2) return undefined;
    parts.push(bytes.subarray(size.next, end));
    at = end + 2;
  }
  return { parts, length: at };
}

/** @param {Buffer} bytes @param {number} at */
function lineAt(bytes, at) {
  const end = bytes.indexOf('\r\n', at);
  return end < 0 ? undefined : { text: bytes.toString('latin1', at, end), next: end + 2 };
}

/** @param {Buffer[]} parts */
const writeCommand = (parts) =>
  Buffer.concat([
    Buffer.from(`*${parts.length}\r\n`),
    ...parts.flatMap((part) => [Buffer.from(`$${part.length}\r\n`), part, Buffer.from('\r\n')]),
  ]);
