-- Reads ENDS, the sorted set that leads to the holds of the many form (shared/holds.lua):
--
--   id -> a time before which the lease of the hold does not end. A renewal does not write it, so the lease may end later.
--         A script that finds this time passed reads the hold, and writes the end that the hold has.
--   '!' .. id -> -1: a mark. The hold is 'alone', and no other client has requested the lock since.
--
-- A script looks at ENDS_PER_READ holds at most.
--- @include "shared/keys"
--- @include "shared/clock"
--- @include "shared/hold"

local ENDS_PER_READ = 32
-- ENDS lives this many ms longer than the state needs at the time, since renewals do not prolong it. If it has expired or got
-- lost, scripts make it again (`restore_ends`).
local ENDS_RETENTION = 600000

-- Reads holds by their ids, and writes the end that each of them has in ENDS.
local function read_ends(ids)
  local fields, holds = {}, {}
  for i = 1, #ids do fields[i] = '+' .. ids[i] end
  local texts = #ids > 0 and redis.call('HMGET', STATE, unpack(fields)) or {}
  for i, id in ipairs(ids) do
    if texts[i] then holds[#holds + 1] = read_hold(id, texts[i]) else redis.call('ZREM', ENDS, id) end
  end
  return holds
end

-- Returns expired holds, and how many holds the script has looked at.
local function read_over()
  local ids = redis.call('ZRANGE', ENDS, 0, integer(now), 'BYSCORE', 'LIMIT', 0, ENDS_PER_READ)
  local expired = {}
  for _, hold in ipairs(read_ends(ids)) do
    if hold.ends <= now then
      expired[#expired + 1] = hold
    else
      redis.pcall('ZADD', ENDS, 'XX', integer(hold.ends), hold.id) -- does not matter if Redis refuses it
    end
  end
  return expired, #ids
end

-- Returns the holds that may end first.
local function read_first(number)
  return read_ends(redis.call('ZRANGE', ENDS, '(' .. integer(now), '+inf', 'BYSCORE', 'LIMIT', 0, number))
end

-- Returns the holds that end last, as far as ENDS knows: mostly the latest grants.
local function read_latest(number)
  return read_ends(redis.call('ZRANGE', ENDS, '+inf', '(' .. integer(now), 'BYSCORE', 'REV', 'LIMIT', 0, number))
end

-- Returns the end of the lease that ends first; nil: not known.
local function first_end()
  local found = redis.call('ZRANGE', ENDS, '(' .. integer(now), '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
  local hold = read_ends({ found[1] })[1]
  if not hold or hold.ends == tonumber(found[2]) then return hold and hold.ends end
  -- Renewed since. Of the next holds, the first one whose end is in ENDS.
  local first, holds = hold.ends, read_first(ENDS_PER_READ)
  local last = #holds == ENDS_PER_READ and tonumber(redis.call('ZSCORE', ENDS, holds[#holds].id)) or math.huge
  for _, each in ipairs(holds) do
    first = math.min(first, each.ends)
    redis.pcall('ZADD', ENDS, 'XX', integer(each.ends), each.id)
  end
  return first <= last and first or nil
end

-- A piece has about this many holds.
local HOLDS_PER_PIECE = 32

-- Makes ENDS again in pieces, after it has expired or got lost. The sums of the state do not depend on it, so meanwhile no
-- request is granted twice. The field '#next' of the state says where the next script continues, and how many holds the
-- scripts have added since the first piece.
--
-- HSCAN returns each hold that exists from the first piece to the last one, unless the pieces come from two servers
-- (failover). So ENDS is complete only if it has as many holds as the sums say. Otherwise the next scripts look at all holds
-- again, unless they have found that none is missing: then the sums are wrong, and the state has to expire.
--
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
