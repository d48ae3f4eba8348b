-- Publishes a message as Redisson does. The last argument of the script says how: `single` on one server; in a Cluster, `plain`
-- or `sharded`. Plain and sharded channels do not hear each other.
local HOW = ARGV[#ARGV]
-- A channel on which clients listen that do not hear this script.
local unheard = false

local function publish(channel, message)
  redis.call(HOW == 'sharded' and 'SPUBLISH' or 'PUBLISH', channel, message)
  if HOW == 'single' then return end
  local listeners = redis.pcall('PUBSUB', HOW == 'sharded' and 'NUMSUB' or 'SHARDNUMSUB', channel)
  if not listeners.err and listeners[2] > 0 then unheard = channel end
end
