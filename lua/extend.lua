-- Sets the lease of one hold, longer or shorter than before.
--
-- KEYS    1 state, 2 queue, 3 waiters, 4 fence, 5 tombstones, 6 limit, 7 ends
-- ARGV    1 address, 2 hold id, 3 lease in ms
-- Output  ms left; -1: not held
--- @include "shared/keys"
--- @include "shared/clock"
--- @include "shared/hold"
--- @include "shared/holds"
--- @include "shared/grant-waiters"

local holds = read_holds(ARGV[2])
local hold = find_hold(holds, ARGV[2])
if not hold or hold.status == STATUS_KEPT then return -1 end
hold.ends = now + tonumber(ARGV[3])
if hold.status == STATUS_PUSHED then hold.status = STATUS_HELD end
keep_state_for(holds, hold)
write_hold(holds, hold)
if holds.is_many then redis.call('ZADD', ENDS, 'XX', 'LT', integer(hold.ends), hold.id) end
grant_waiters(holds, nil, 0)
return hold.ends - now
