-- Makes ENDS again in pieces, after it has expired or got lost. The sums of the state do not depend on it, so meanwhile no
-- request is granted twice. The field '#next' of the state says where the next script continues, and how many holds the
-- scripts have added since the first piece.
--
-- HSCAN returns each hold that exists from the first piece to the last one, unless the pieces come from two servers
-- (failover). So ENDS is complete only if it has as many holds as the sums say. Otherwise the next scripts look at all holds
-- again, unless they have found that none is missing: then the sums are wrong, and the state has to expire.
--- @include "shared/keys"
--- @include "shared/clock"
--- @include "shared/hold"
--- @include "shared/ends"

-- A piece has about this many holds.
local HOLDS_PER_PIECE = 32

-- Returns whether ENDS still lacks holds.
local function restore_ends(sums)
  local place, added = string.match(redis.call('HGET', STATE, '#next') or '0 0', '^(%d+) (%d+)$')
  -- Redis accepts the first write even if its memory is full, and then also the others.
  redis.call('HDEL', STATE, '#next')
  redis.call('ZREMRANGEBYSCORE', ENDS, '-inf', '(0')
  sums.marked = 0
  local next_place, fields = unpack(redis.call('HSCAN', STATE, place, 'COUNT', HOLDS_PER_PIECE))
  for i = 1, #fields, 2 do
    local id = string.match(fields[i], '^%+(.+)$')
    if id then added = added + redis.call('ZADD', ENDS, 'NX', integer(read_hold(id, fields[i + 1]).ends), id) end
  end
  redis.call('PEXPIREAT', ENDS, integer(now + redis.call('PTTL', STATE) + ENDS_RETENTION))
  if redis.call('ZCARD', ENDS) >= sums.holds then return false end
  if next_place == '0' and tonumber(added) == 0 then return false end
  redis.call('HSET', STATE, '#next', next_place == '0' and '0 0' or next_place .. ' ' .. added)
  return true
end
