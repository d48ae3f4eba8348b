-- Messages to clients. Each client listens on one channel of its own; an acquisition's id begins with its client's id.
-- Numbers come first and the key last, since a key may hold spaces. An address: channel prefix and key.
local CHANNELS, KEY = string.match(ARGV[1], '^(%S+) (.+)$')

local function channel_of(id)
  return CHANNELS .. string.match(id, '^[^:]+')
end

local function is_present(id)
  return redis.call('PUBSUB', 'NUMSUB', channel_of(id))[2] > 0
end

local function tell_granted(hold)
  redis.call('PUBLISH', channel_of(hold.id), table.concat(
    { 'granted', hold.id, integer(hold.token), integer(hold.ends - now), integer(now), hold.turns, KEY }, ' '))
end

local function tell_to_ask(id, delay)
  redis.call('PUBLISH', channel_of(id), table.concat({ 'ask', id, integer(delay), KEY }, ' '))
end

local function tell_revoked(hold)
  redis.call('PUBLISH', channel_of(hold.id), table.concat({ 'revoked', hold.id, integer(hold.token), KEY }, ' '))
end

-- Somebody waits who is to be served in the order in which all came.
local function tell_to_yield(hold)
  redis.call('PUBLISH', channel_of(hold.id), table.concat({ 'yield', hold.id, KEY }, ' '))
end

local function tell_opened(client, latch)
  redis.call('PUBLISH', channel_of(client), table.concat({ 'opened', latch, KEY }, ' '))
end
