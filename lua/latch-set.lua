-- Creates a count-down latch, unless one exists. A command that arrives twice or late has no further effect.
--
-- KEYS    1 latch, 2 counted
-- ARGV    1 id of this call, which becomes the name of the latch, 2 count, 3 ms after which the latch expires unless it is
--         counted down, 4 ms to keep the record of the call
-- Output  1: this call has created the latch; 0: there is another one
--- @include "shared/latch"
--- @include "shared/records"

local id, count, lifetime, lifetime_of_record = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local left = count_left()
if has_record(COUNTED, id) then return 1 end
if left > 0 then return 0 end
-- Before the rest: if Redis refuses this write for lack of memory, the call leaves nothing behind.
redis.call('HSET', LATCH, 'count', count, 'name', id, 'lifetime', lifetime)
redis.call('PEXPIRE', LATCH, lifetime)
write_record(COUNTED, id, math.max(lifetime_of_record, tonumber(lifetime)))
return 1
