-- Deletes a latch. Its waiters learn that it is gone, and has not opened, when they ask again. A command that arrives twice or
-- late has no further effect: it names the latch, so it deletes no later one.
--
-- KEYS    1 latch, 2 counted
-- ARGV    1 id of this call, 2 name of the latch, 3 ms to keep the record of the call
-- Output  1: this call has deleted the latch; 0: there is no latch of that name
--- @include "shared/latch"
--- @include "shared/records"

local id, name, lifetime_of_record = ARGV[1], ARGV[2], tonumber(ARGV[3])
count_left()
if has_record(COUNTED, id) then return 1 end
if redis.call('HGET', LATCH, 'name') ~= name then return 0 end
redis.call('DEL', LATCH)
write_record(COUNTED, id, lifetime_of_record)
return 1
