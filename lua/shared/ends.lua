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
-- lost, scripts make it again (shared/restore-ends.lua).
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
