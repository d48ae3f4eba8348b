-- Sets the lease of one hold anew, longer or shorter than it was.
--
-- KEYS  state, queue, waiters, fence, gone, limit
-- ARGV  1 channel prefix, 2 key, 3 hold id, 4 lease
-- Reply ms left; -1 it is not held
local CHANNELS, KEY = ARGV[1], ARGV[2]
--- @include "shared/keys"
--- @include "shared/clock"
--- @include "shared/token"
--- @include "shared/modes"
--- @include "shared/holds"
--- @include "shared/messages"
--- @include "shared/queue"
--- @include "shared/settle"

local holds, ended = read_holds()
local hold = find_hold(holds, ARGV[3])
if not hold or hold.kept then return -1 end
hold.ends = now + tonumber(ARGV[4])
set_state_ttl(holds)
write_hold(hold)
settle(holds, ended, nil, 0)
return hold.ends - now
