-- Messages to clients. In a message numbers come first and the key comes last, since a key may contain spaces.
--
-- On one server each client subscribes to one channel of its own. In a Cluster, CHANNELS ends in a hash tag of the lock's
-- slot. Messages to waiters go through that slot only (sharded pub/sub). Rare messages go over the cluster bus, to a
-- channel that each client subscribes to at some node. Before Redis 7 all messages go over the bus.
--
-- An address in ARGV: CHANNELS (what precedes a client id in the name of a channel), a line break, and the key.
--- @include "shared/clock"
--- @include "shared/client"

local CHANNELS, KEY = string.match(ARGV[1], '^([^\n]+)\n(.+)$')
local TAG = string.find(CHANNELS, '{', 1, true)
local BUS = TAG and string.sub(CHANNELS, 1, TAG - 1) .. 'bus:' or CHANNELS
local SHARDED = TAG and redis.REDIS_VERSION_NUM ~= nil

-- The channel to which a waiter subscribes.
local function channel_of(id)
  return (SHARDED and CHANNELS or BUS) .. client_of(id)
end

-- Whether the client of an acquisition is subscribed.
local function is_present(id)
  -- On the bus, no single node knows all subscribers.
  if TAG and not SHARDED then return true end
  return redis.call('PUBSUB', SHARDED and 'SHARDNUMSUB' or 'NUMSUB', channel_of(id))[2] > 0
end

-- Whether the client of a hold receives the message that the hold was revoked. In a Cluster it goes over the bus.
local function receives_revocation(id)
  return TAG ~= nil or is_present(id)
end

local function publish_to_waiter(id, ...)
  redis.call(SHARDED and 'SPUBLISH' or 'PUBLISH', channel_of(id), table.concat({ ... }, ' '))
end

local function publish_to_client(id, ...)
  redis.call('PUBLISH', BUS .. client_of(id), table.concat({ ... }, ' '))
end

local function publish_granted(hold)
  publish_to_waiter(hold.id, 'granted', hold.id, integer(hold.token), integer(hold.ends - now), integer(now),
    hold.batch_size, KEY)
end

-- Has a waiter retry after `delay` ms.
local function publish_retry(id, delay)
  publish_to_waiter(id, 'retry', id, integer(delay), KEY)
end

local function publish_revoked(hold)
  publish_to_client(hold.id, 'revoked', hold.id, integer(hold.token), KEY)
end

-- Has a holder end its batch: another client waits that must not wait for the whole batch.
local function publish_yield(hold)
  publish_to_client(hold.id, 'yield', hold.id, KEY)
end

local function publish_opened(client, latch)
  publish_to_client(client, 'opened', latch, KEY)
end
