-- The two keys of a count-down latch. They share a slot, and each has a TTL whenever it exists. No latch: it is open.
local LATCH   -- hash: 'count', 'name', 'lifetime'; 'client:' and its id -> until when that client waits
local COUNTED -- sorted set: id of a call that had an effect, or 'opened:' and the name of a latch that has come to 0
              -- -> until when that is remembered
LATCH, COUNTED = unpack(KEYS, 1, 2)
-- For so many ms at least it is remembered that a latch has opened: longer than a waiter goes without asking.
local OPENED_MEMORY = 600000

local function count_left()
  local count = redis.call('HGET', LATCH, 'count')
  if count then return tonumber(count) end
  if redis.call('EXISTS', LATCH) == 1 then error('WRONGTYPE the latch key holds something that is no latch') end
  return 0
end

-- Whether a call has had its effect before: it may arrive twice, also when its latch has opened since.
local function has_counted(id)
  local remembered = redis.call('ZSCORE', COUNTED, id)
  return remembered and tonumber(remembered) > now
end

local function has_opened(name)
  return has_counted('opened:' .. name)
end

-- The first write is one that Redis takes also when its memory is full, and then it takes the others.
local function remember(id, memory)
  redis.call('ZREMRANGEBYSCORE', COUNTED, '-inf', integer(now))
  redis.call('ZADD', COUNTED, integer(now + memory), id)
  redis.call('PEXPIRE', COUNTED, integer(math.max(redis.call('PTTL', COUNTED), memory)))
end
