-- The two keys of a count-down latch. They share a Cluster slot, and each has a TTL whenever it exists. A latch that does
-- not exist is open.
--
-- The generator reads the roles and their order from this file: `LATCH_KEY_ROLES` in TypeScript.
--- @include "shared/keys"
--- @include "shared/clock"

local LATCH = KEYS[1]   -- hash: 'count', 'name', 'lifetime'; 'client:' .. client id -> end of that client's wait
local COUNTED = KEYS[2] -- sorted set: id of a call that had an effect, or 'opened:' .. name of a latch that has opened
                        -- -> end of this record
-- Redis remembers for at least this many ms that a latch has opened: longer than a waiter goes without asking.
--- @export
local OPENED_RETENTION = 600000

local function count_left()
  local count, layout = unpack(redis.call('HMGET', LATCH, 'count', 'layout'))
  assert_layout(layout)
  if count then return tonumber(count) end
  if redis.call('EXISTS', LATCH) == 1 then error('WRONGTYPE the latch key holds something that is no latch') end
  return 0
end

-- Whether a call has had its effect already: a command may arrive twice, even after its latch has opened.
local function has_counted(id)
  local ends = redis.call('ZSCORE', COUNTED, id)
  return ends and tonumber(ends) > now
end

-- Records a call for `lifetime` ms. Redis accepts the first write even if its memory is full, and then also
-- the others.
local function record_call(id, lifetime)
  redis.call('ZREMRANGEBYSCORE', COUNTED, '-inf', integer(now))
  redis.call('ZADD', COUNTED, integer(now + lifetime), id)
  redis.call('PEXPIRE', COUNTED, integer(math.max(redis.call('PTTL', COUNTED), lifetime)))
end
