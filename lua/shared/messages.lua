-- Messages to clients. An acquisition's id begins with its client's id. Numbers come first and the key last, since a
-- key may hold spaces.
--
-- On one server each client listens on one channel of its own. In a Cluster, CHANNELS ends in a hash tag of the lock's
-- slot: what is told to those who wait goes through that slot only (sharded pub/sub), and what is rare goes over the
-- bus to a channel that each client listens on somewhere. Before Redis 7 all goes over the bus.
--
-- An address, as ARGV carries it: CHANNELS, which stands before a client's id, a line break, and the key.
local CHANNELS, KEY = string.match(ARGV[1], '^([^\n]+)\n(.+)$')
local TAG = string.find(CHANNELS, '{', 1, true)
local BUS = TAG and string.sub(CHANNELS, 1, TAG - 1) .. 'bus:' or CHANNELS
local SHARDED = TAG and redis.REDIS_VERSION_NUM ~= nil

local function client_of(id)
  return string.match(id, '^[^:]+')
end

-- Where a waiter listens.
local function channel_of(id)
  return (SHARDED and CHANNELS or BUS) .. client_of(id)
end

local function is_present(id)
  -- Who listens on the bus does so somewhere, and nobody knows where.
  if TAG and not SHARDED then return true end
  return redis.call('PUBSUB', SHARDED and 'SHARDNUMSUB' or 'NUMSUB', channel_of(id))[2] > 0
end

-- Whether the client of a hold is there to be told that it has ended. In a Cluster it is told over the bus.
local function hears_of_end(id)
  return TAG ~= nil or is_present(id)
end

local function tell_waiter(id, ...)
  redis.call(SHARDED and 'SPUBLISH' or 'PUBLISH', channel_of(id), table.concat({ ... }, ' '))
end

local function tell_client(id, ...)
  redis.call('PUBLISH', BUS .. client_of(id), table.concat({ ... }, ' '))
end

local function tell_granted(hold)
  tell_waiter(hold.id, 'granted', hold.id, integer(hold.token), integer(hold.ends - now), integer(now),
    hold.turns, KEY)
end

local function tell_to_ask(id, delay)
  tell_waiter(id, 'ask', id, integer(delay), KEY)
end

local function tell_revoked(hold)
  tell_client(hold.id, 'revoked', hold.id, integer(hold.token), KEY)
end

-- Somebody waits who is to be served in the order in which all came.
local function tell_to_yield(hold)
  tell_client(hold.id, 'yield', hold.id, KEY)
end

local function tell_opened(client, latch)
  tell_client(client, 'opened', latch, KEY)
end
