-- Tells which call was the last one to set the number of permits of a semaphore. Writes nothing.
--
-- KEYS  state, queue, waiters, fence, gone, limit
-- Reply its version, as a text; '0': the number is not set
--- @include "shared/keys"
--- @include "shared/modes"

local _, version = limit_set()
return version
