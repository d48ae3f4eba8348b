-- Offers a hold to another client: gives it the id of the offer and a new lease. From then on no command that names the old
-- id finds it. A client that knows the id of the offer takes the hold over (adopt.lua). Otherwise it ends with that lease.
--
-- KEYS    1 state, 2 queue, 3 waiters, 4 fence, 5 tombstones, 6 limit, 7 ends
-- ARGV    1 address, 2 hold id, 3 offer id, 4 lease in ms
-- Output  ms left; -1: not held; -2: its owner has another hold of this key; -3: not known yet, ask again
--
-- May arrive twice or late: a second copy finds the offer, and never makes it longer.
--- @include "shared/modes"
--- @include "shared/clock"
--- @include "shared/hold"
--- @include "shared/holds"
--- @include "shared/grant-waiters"

local id, offer, lease = ARGV[2], ARGV[3], tonumber(ARGV[4])
local holds = read_holds(id)
local offered = find_hold(holds, offer)
if offered then return offered.ends - now end
local hold = find_hold(holds, id)
if not hold or hold.status == STATUS_KEPT then return -1 end
if holds.has_more then return -3 end

hold.status = STATUS_HELD
leave_out(holds, hold)
for _, kind in ipairs({ EXCLUSIVE, READ, PERMITS }) do
  if owns(holds, hold.owner, kind) then return -2 end
end
drop_expired(holds)
hold.id, hold.owner, hold.ends, hold.status = offer, offer, now + lease, STATUS_HELD
add_hold(holds, hold)
grant_waiters(holds, nil, 0)
return hold.ends - now
