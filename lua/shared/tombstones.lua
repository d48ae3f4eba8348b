-- Tombstones: ids of acquisitions that were abandoned or revoked while a command of theirs may still be on its way, of calls
-- that have had their effect (add-limit.lua), and of clients that have let a grant expire (shared/parked.lua).
--- @include "shared/keys"
--- @include "shared/clock"

local function has_tombstone(id)
  local ends = redis.call('ZSCORE', TOMBSTONES, id)
  return ends and tonumber(ends) > now
end

-- The id of the tombstone of a hold that was ended by force. The acquisition itself may be granted again.
local function revocation(id)
  return 'revoked:' .. id
end

-- `lifetime`: in ms.
local function write_tombstone(id, lifetime)
  redis.call('ZREMRANGEBYSCORE', TOMBSTONES, '-inf', integer(now))
  redis.call('ZADD', TOMBSTONES, integer(now + lifetime), id)
  redis.call('PEXPIRE', TOMBSTONES, integer(math.max(redis.call('PTTL', TOMBSTONES), lifetime)))
end
