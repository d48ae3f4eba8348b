-- Reads the count of a latch, and registers the client as a waiter.
--
-- KEYS    1 latch, 2 counted
-- ARGV    1 client id, 2 for how many ms the client waits for the message that the latch has opened (0: it does not wait),
--         3 ... names of latches that its waiters have seen closed
-- Output  { count left, name of the latch ('': there is none), those of the names whose latches have opened ... }
--- @include "shared/clock"
--- @include "shared/latch"
--- @include "shared/records"

local left = count_left()
local reply = { left, left > 0 and redis.call('HGET', LATCH, 'name') or '' }
for i = 3, #ARGV do
  if has_record(COUNTED, 'opened:' .. ARGV[i]) then reply[#reply + 1] = ARGV[i] end
end
local patience = tonumber(ARGV[2])
if left > 0 and patience > 0 then
  local field = 'client:' .. ARGV[1]
  -- Redis accepts this write even if its memory is full, and then accepts the next one.
  redis.call('HDEL', LATCH, field)
  redis.call('HSET', LATCH, field, integer(now + patience))
end
return reply
