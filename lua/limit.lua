-- Reads the version of the number of permits of a semaphore: it names the last call that set the number. Writes nothing.
--
-- KEYS    1 state, 2 queue, 3 waiters, 4 fence, 5 tombstones, 6 limit, 7 ends
-- Output  { version, as a text ('0': the number is not set), now }
--- @include "shared/clock"
--- @include "shared/modes"

local _, version = limit_set()
return { version, now }
