-- Sets the lease of one hold anew, longer or shorter than it was.
--
-- KEYS  state, queue, waiters, fence, gone, limit
-- ARGV  1 address, 2 hold id, 3 lease
-- Reply ms left; -1 it is not held
--- @include "shared/keys"
--- @include "shared/clock"
--- @include "shared/token"
--- @include "shared/modes"
--- @include "shared/holds"
--- @include "shared/messages"
--- @include "shared/queue"
--- @include "shared/settle"

local holds, ended = read_holds()
local hold = find_hold(holds, ARGV[2])
if not hold or hold.kept then return -1 end
hold.ends, hold.pushed = now + tonumber(ARGV[3]), nil
set_state_ttl(holds)
write_hold(hold)
settle(holds, ended, nil, 0)
return hold.ends - now
