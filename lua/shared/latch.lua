-- The two keys of a count-down latch. They share a Cluster slot, and each has a TTL whenever it exists. A latch that does
-- not exist is open.
--
-- The generator reads the roles and their order from this file: `LATCH_KEY_ROLES` in TypeScript.
--- @include "shared/keys"

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
