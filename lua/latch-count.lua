-- Tells how much is left of a latch, and notes down that a client waits for it.
--
-- KEYS  latch, counted
-- ARGV  1 client id, 2 for how many ms it wants to be told when the latch opens (0: not at all)
-- Reply how much is left, name of the latch ('': there is none)
--- @include "shared/clock"
--- @include "shared/latch"

local left = count_left()
if left == 0 then return { 0, '' } end
local patience = tonumber(ARGV[2])
if patience > 0 then
  local field = 'client:' .. ARGV[1]
  -- A write that Redis takes also when its memory is full, and then it takes the next one.
  redis.call('HDEL', LATCH, field)
  redis.call('HSET', LATCH, field, integer(now + patience))
end
return { left, redis.call('HGET', LATCH, 'name') }
