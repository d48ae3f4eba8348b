import { setTimeout as sleep } from 'node:timers/promises';
import { keysWithTtl } from '../../testbed/history/leaks.mjs';
import { RedisServer } from '../../testbed/servers/redis-server.mjs';

const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
`;

const REVIVED = `${NOW}
local revived = {}
for _, tombstones in ipairs(redis.call('KEYS', 'lock:tombstones:*')) do
  local state = 'lock:state:' .. string.sub(tombstones, #'lock:tombstones:' + 1)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', tombstones, string.format('(%.0f', now), '+inf')) do
    local hold = redis.call('HGET', state, id)
    if hold and tonumber(string.match(hold, '^%S+ (%d+)')) > now then revived[#revived + 1] = state .. ' ' .. id end
  end
end
return revived`;

/**
 * Of holds that were ended by force, as `state id token`: the ones that still exist. A grant of a later time has
 * another token.
 */
const STANDING = `${NOW}
local standing = {}
for i = 2, #ARGV, 3 do
  local hold = redis.call('HGET', ARGV[i], ARGV[i + 1])
  local ends, token = string.match(hold or '', '^%S+ (%d+) (%d+)')
  if token == ARGV[i + 2] and tonumber(ends) > now then standing[#standing + 1] = ARGV[i] .. ' ' .. ARGV[i + 1] end
end
return standing`;

/** ms in which a force release has come, and how often it is looked whether it has. */
const FORCED = 500;
const LOOK = 10;
/** Of so many holds that were ended by force it is looked whether they are there again: as long as any would last. */
const LATEST = 50;

/**
 * The start options of a server of a run: commands of its `admin` while the server is away are answered when it is
 * back.
 */
export const SERVER = { persistent: true, admin: { maxRetriesPerRequest: null } };

/** A Redis with persistence, and the queries of the checks of a run. */
export class Server extends RedisServer {
  #forced = [];

  /** Every key, with its TTL in ms (-1: none). */
  keysWithTtl() {
    return keysWithTtl(this.admin);
  }

  /** Holds that are there though it is remembered that they have left, or were ended by force. The clock is `skew` ms ahead. */
  async revived(skew = 0) {
    const left = await this.admin.eval(REVIVED, 0, skew);
    return [...left, ...(await this.admin.eval(STANDING, 0, skew, ...this.#forced.flat()))];
  }

  /** The holds of a key, each as the name of the state, its id and its token. */
  async holdsOf(key) {
    const state = `lock:state:{${key}}`;
    const holds = await this.admin.hgetall(state);
    return Object.entries(holds).map(([id, hold]) => [state, id, hold.split(' ')[2]]);
  }

  /**
   * Resolves when some holds were ended by force here, or after a while: to how many were. From then on they must not be
   * held any more.
   */
  async untilForced(key, holds) {
    const end = performance.now() + FORCED;
    const ended = [];
    while (ended.length < holds.length && performance.now() < end) {
      for (const hold of holds.filter((each) => !ended.includes(each))) {
        const noted = await this.admin.zscore(`lock:tombstones:{${key}}`, `revoked:${hold[1]}`);
        if (noted !== null) ended.push(hold);
      }
      await sleep(LOOK);
    }
    this.#forced = [...this.#forced, ...ended].slice(-LATEST);
    return ended.length;
  }
}
