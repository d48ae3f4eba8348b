-- Tells how much is left of a latch, and notes down that a client waits for it.
--
-- KEYS  latch, counted
-- ARGV  1 client id, 2 for how many ms it wants to be told when the latch opens (0: not at all), 3… names of latches that
--       its waiters have seen closed
-- Reply how much is left, name of the latch ('': there is none), those of the names whose latches have opened …
--- @include "shared/clock"
--- @include "shared/latch"

local left = count_left()
local reply = { left, left > 0 and redis.call('HGET', LATCH, 'name') or '' }
for i = 3, #ARGV do
  if has_opened(ARGV[i]) then reply[#reply + 1] = ARGV[i] end
end
local patience = tonumber(ARGV[2])
if left > 0 and patience > 0 then
  local field = 'client:' .. ARGV[1]
  -- A write that Redis takes also when its memory is full, and then it takes the next one.
  redis.call('HDEL', LATCH, field)
  redis.call('HSET', LATCH, field, integer(now + patience))
end
return reply
