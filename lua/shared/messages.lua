-- Messages to clients. In a message numbers come first and the key comes last, since a key may contain spaces.
--
-- On one server each client subscribes to one channel of its own. In a Cluster, CHANNELS ends in a hash tag of the lock's
-- slot. Messages to waiters go through that slot only (sharded pub/sub). Rare messages go over the cluster bus, to a
-- channel that each client subscribes to at some node. Before Redis 7 all messages go over the bus.
--
-- An address in ARGV: CHANNELS (what precedes a client id in the name of a channel), a line break, and the key.
--- @include "shared/clock"

-- The client of an acquisition: its id begins with the id of the client, and a colon.
local function client_of(id)
  return string.match(id, '^[^:]+')
end

local CHANNELS, KEY = string.match(ARGV[1], '^([^\n]+)\n(.+)$')
local TAG = string.find(CHANNELS, '{', 1, true)
local BUS = TAG and string.sub(CHANNELS, 1, TAG - 1) .. 'bus:' or CHANNELS
local SHARDED = TAG and redis.REDIS_VERSION_NUM ~= nil

-- The channel to which a waiter subscribes.
local function channel_of(id)
  return (SHARDED and CHANNELS or BUS) .. client_of(id)
end

-- Some servers and proxies know these commands, but not in scripts. Waiters also retry without messages, so a script continues
-- without the command. A missing right remains an error, since the user can be given it.
local function call_if_known(...)
  local reply = redis.pcall(...)
  local failure = type(reply) == 'table' and reply.err
  if failure and (string.find(failure, 'NOPERM', 1, true) or string.find(failure, 'ACL', 1, true)
    or string.find(failure, 'user executing', 1, true)) then error(failure, 0) end
  return not failure and reply
end

-- Whether the client of an acquisition is subscribed, or may be.
local function is_present(id)
  -- On the bus, no single node knows all subscribers.
  if TAG and not SHARDED then return true end
  local reply = call_if_known('PUBSUB', SHARDED and 'SHARDNUMSUB' or 'NUMSUB', channel_of(id))
  return not reply or reply[2] > 0
end

-- To a waiter: its grant, or a request to retry.
local function publish_to_waiter(id, ...)
  call_if_known(SHARDED and 'SPUBLISH' or 'PUBLISH', channel_of(id), table.concat({ ... }, ' '))
end

-- In a Cluster a grant names its node. The nodes of a shard forward sharded messages to each other, so a master that was
-- replaced while it was frozen also reaches the subscribers of the new one.
local function publish_granted(hold)
  local node = SHARDED and redis.pcall('CLUSTER', 'MYID')
  if type(node) ~= 'string' then node = '-' end
  publish_to_waiter(hold.id, 'granted', hold.id, integer(hold.token), integer(hold.ends - now), integer(now),
    hold.batch_size, hold.units or 0, node, KEY)
end

-- Has a waiter retry after `delay` ms.
local function publish_retry(id, delay)
  publish_to_waiter(id, 'retry', id, integer(delay), KEY)
end

-- Whether the client of a hold receives the message that the hold was revoked. In a Cluster it goes over the bus.
local function receives_revocation(id)
  return TAG ~= nil or is_present(id)
end

local function publish_to_client(id, ...)
  call_if_known('PUBLISH', BUS .. client_of(id), table.concat({ ... }, ' '))
end

-- `next_id`: the acquisition that has got the lock instead; nil: none has, or it is not known.
local function publish_revoked(hold, by, next_id)
  publish_to_client(hold.id, 'revoked', hold.id, integer(hold.token), by, next_id or '-', KEY)
end

-- Has a holder end its batch: another client waits that must not wait for the whole batch.
local function publish_yield(id)
  publish_to_client(id, 'yield', id, KEY)
end

local function publish_opened(client, latch)
  publish_to_client(client, 'opened', latch, KEY)
end
