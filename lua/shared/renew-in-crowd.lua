-- Renews a lease in the index of many holds (shared/crowd.lua). Never makes an index.
--- @include "shared/clock"
--- @include "shared/crowd-keys"

local function renew_in_crowd(state, id, ends)
  local ends_key, aggregates = crowd_keys(state)
  redis.call('ZADD', ends_key, 'XX', integer(ends), id)
  local until_at_least = integer(math.max(ends, now + redis.call('PTTL', ends_key)))
  redis.call('PEXPIREAT', ends_key, until_at_least)
  redis.call('PEXPIREAT', aggregates, until_at_least)
end
