-- Offers a hold to another client: gives it the id of the offer and a new lease. From then on no command that names the old
-- id finds it. A client that knows the id of the offer takes the hold over (adopt.lua). Otherwise it ends with that lease.
--
-- KEYS    1 state, 2 queue, 3 waiters, 4 fence, 5 tombstones, 6 limit
-- ARGV    1 address, 2 hold id, 3 offer id, 4 lease in ms
-- Output  ms left; -1: not held; -2: its owner has another hold of this key; -3: not known yet, ask again
--
-- May arrive twice or late: a second copy finds the offer, and never makes it longer.
--- @include "shared/keys"
--- @include "shared/clock"
--- @include "shared/holds"
--- @include "shared/grant-waiters"

local id, offer, lease = ARGV[2], ARGV[3], tonumber(ARGV[4])
local holds, ended = read_holds()
local offered = find_hold(holds, offer)
if offered then return offered.ends - now end
local hold = find_hold(holds, id)
if not hold or hold.kept then return -1 end
if holds.crowd and holds.crowd.is_incomplete then return -3 end
if holds.crowd and holds.crowd.shares_owner(hold) then return -2 end
for _, other in ipairs(holds) do
  if other.id ~= id and other.owner == hold.owner then return -2 end
end

if holds.crowd then holds.crowd.remove(hold) end
redis.call('HDEL', STATE, id) -- Redis accepts this write even if its memory is full, and then the others
hold.id, hold.owner, hold.ends, hold.pushed = offer, offer, now + lease, nil
if holds.crowd then holds.crowd.add(hold) end
write_hold(hold)
set_state_ttl(holds, hold)
grant_waiters(holds, ended, nil, 0)
return hold.ends - now
