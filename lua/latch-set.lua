-- Makes a count-down latch, unless there is one.
--
-- KEYS  latch, counted
-- ARGV  1 id of this call, which becomes the latch's name, 2 count, 3 ms for which it lives without being counted down,
--       4 ms to remember the id
-- Reply 1 or 0: it was made by this call, or there is another one
--
-- May arrive twice or late: its effect is that of arriving once.
--- @include "shared/clock"
--- @include "shared/latch"

local id, count, lifetime, memory = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local left = count_left()
if has_counted(id) then return 1 end
if left > 0 then return 0 end
-- Before the rest: refused for lack of memory it leaves nothing behind.
redis.call('HSET', LATCH, 'count', count, 'name', id, 'lifetime', lifetime)
redis.call('PEXPIRE', LATCH, lifetime)
remember(id, math.max(memory, tonumber(lifetime)))
return 1
