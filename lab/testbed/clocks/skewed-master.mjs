// @ts-check
import { createHash } from 'node:crypto';
import { RespProxy } from '../proxies/resp-proxy.mjs';

const NO_SCRIPT = '0'.repeat(40);

/**
 * A Redis server whose clock is ahead or behind: a proxy before a real server. It changes scripts on their way, so that
 * they see another time. Only commands that pass through it are changed. The library sees the time in scripts, `TIME`
 * and `INFO` alone.
 */
export class SkewedMaster extends RespProxy {
  /** Hash of a script as it was sent, and of its changed text. @type {Map<string, string>} */
  #scripts = new Map();
  #skew;

  /**
   * @param {{ readonly port: number }} target
   * @param {number} [skew] ms that the clock is ahead; negative: behind
   */
  constructor(target, skew = 0) {
    super(target, { remembers: false, rewrite: (command) => this.#changed(command) });
    this.#skew = skew;
  }

  get skew() {
    return this.#skew;
  }

  /** Steps the clock: by how many ms it is ahead from now on. @param {number} ms */
  setSkew(ms) {
    this.#skew = ms;
    this.#scripts.clear();
  }

  /** @param {import('../proxies/resp-proxy.mjs').ProxiedCommand} command */
  #changed({ name, args: [script = '', ...rest] }) {
    switch (name) {
      case 'eval': {
        const text = prologue(this.#skew) + script;
        this.#scripts.set(sha1(script), sha1(text));
        return [name, text, ...rest];
      }
      case 'evalsha':
        // A script that the server knows from elsewhere would see the true time.
        return [name, this.#scripts.get(script.toLowerCase()) ?? NO_SCRIPT, ...rest];
      case 'time':
        return ['eval', `${prologue(this.#skew)}return redis.call('TIME')`, '0'];
      case 'info':
        return ['eval', prologue(this.#skew) + INFO, '0', ...(script === '' ? [] : [script, ...rest])];
      default:
        return undefined;
    }
  }
}

/** Stands on the first line of a script, before its own text. @param {number} skew */
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

/** @param {string} text */
const sha1 = (text) => createHash('sha1').update(text).digest('hex');
