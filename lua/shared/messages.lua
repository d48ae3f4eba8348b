-- Messages to clients. Each client listens on one channel of its own; an acquisition's id begins with its client's id.
-- Numbers come first and the key last, since a key may hold spaces.
local function channel_of(id)
  return CHANNELS .. string.match(id, '^[^:]+')
end

local function is_present(id)
  return redis.call('PUBSUB', 'NUMSUB', channel_of(id))[2] > 0
end

local function tell_granted(hold)
  redis.call('PUBLISH', channel_of(hold.id), table.concat(
    { 'granted', hold.id, integer(hold.token), integer(hold.ends - now), integer(now), KEY }, ' '))
end

local function tell_to_ask(id, delay)
  redis.call('PUBLISH', channel_of(id), table.concat({ 'ask', id, integer(delay), KEY }, ' '))
end

local function tell_revoked(hold)
  redis.call('PUBLISH', channel_of(hold.id), table.concat({ 'revoked', hold.id, integer(hold.token), KEY }, ' '))
end

local function tell_opened(client, latch)
  redis.call('PUBLISH', channel_of(client), table.concat({ 'opened', latch, KEY }, ' '))
end
