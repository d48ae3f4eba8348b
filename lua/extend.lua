-- Sets the lease of one hold, longer or shorter than before.
--
-- KEYS    1 state, 2 queue, 3 waiters, 4 fence, 5 tombstones, 6 limit
-- ARGV    1 address, 2 hold id, 3 lease in ms
-- Output  ms left; -1: not held
--- @include "shared/clock"
--- @include "shared/holds"
--- @include "shared/grant-waiters"

local holds, ended = read_holds()
local hold = find_hold(holds, ARGV[2])
if not hold or hold.kept then return -1 end
hold.ends, hold.pushed = now + tonumber(ARGV[3]), nil
set_state_ttl(holds, hold)
write_hold(hold, holds)
grant_waiters(holds, ended, nil, 0)
return hold.ends - now
