-- Records of ids, each with an end, in a sorted set: TOMBSTONES or COUNTED (shared/latch.lua).
--
-- Tombstones are ids of acquisitions that were abandoned or revoked while a command of theirs may still be on its way, of calls
-- that have had their effect (add-limit.lua), and of clients that have let a grant expire (shared/parked.lua).
--- @include "shared/clock"

local function has_record(key, id)
  local ends = redis.call('ZSCORE', key, id)
  return ends and tonumber(ends) > now
end

-- `lifetime`: in ms. Redis accepts the first write even if its memory is full, and then also the others.
local function write_record(key, id, lifetime)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', integer(now))
  redis.call('ZADD', key, integer(now + lifetime), id)
  redis.call('PEXPIRE', key, integer(math.max(redis.call('PTTL', key), lifetime)))
end

-- The id of the tombstone of a hold that was ended by force. The acquisition itself may be granted again.
local function revocation(id)
  return 'revoked:' .. id
end
