-- Publishes a message as Redisson does. The last argument of the script says how: `single` on one server; in a Cluster, `plain`
-- or `sharded`. Plain and sharded channels do not hear each other.
local HOW = ARGV[#ARGV]
-- A channel on which clients listen that do not hear this script.
local unheard = false

-- How many clients listen on a channel of this kind, at this server; `nil` if the server does not say.
local function listeners_of(channel, is_sharded)
  local reply = redis.pcall('PUBSUB', is_sharded and 'SHARDNUMSUB' or 'NUMSUB', channel)
  if not reply.err then return reply[2] end
end

-- Whether it is certain that no client would receive a message. On plain channels of a Cluster, a client may be subscribed at
-- any node.
local function is_deserted(channel)
  return HOW ~= 'plain' and listeners_of(channel, HOW == 'sharded') == 0
end

local function publish(channel, message)
  redis.call(HOW == 'sharded' and 'SPUBLISH' or 'PUBLISH', channel, message)
  if HOW == 'single' then return end
  if (listeners_of(channel, HOW ~= 'sharded') or 0) > 0 then unheard = channel end
end
