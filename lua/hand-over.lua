-- Hands a hold over: gives it another id, which is then also its owner, the next fencing token and a new lease. The mode stays.
-- A holder hands its hold over to the id of an offer, and a client that knows this id from there to its own. From then on no
-- command that names the old id finds the hold. Of several clients that know an offer one succeeds.
--
-- KEYS    1 state, 2 queue, 3 waiters, 4 fence, 5 tombstones, 6 limit, 7 ends
-- ARGV    1 address, 2 hold id, 3 new id, 4 lease in ms
-- Output  { HELD, now, -1, token, ms of lease left, batch size }, and how many permits a hold of permits has
--         { LEFT, now, -1 }: there is no such hold, or the new id has a tombstone
--         { UPGRADE, now, -1 }: its owner has another hold of this key
--         an empty list: not known yet, ask again
--
-- May arrive twice or late: a second copy finds the hold under its new id, and changes nothing.
--- @include "shared/keys"
--- @include "shared/reply-codes"
--- @include "shared/clock"
--- @include "shared/token"
--- @include "shared/modes"
--- @include "shared/holds"
--- @include "shared/hold"
--- @include "shared/request"
--- @include "shared/grant-waiters"
--- @include "shared/records"

local from, to, lease = ARGV[2], ARGV[3], tonumber(ARGV[4])
if has_record(TOMBSTONES, to) then return { LEFT, now, -1 } end
local holds = read_holds(from)
local moved = find_hold(holds, to)
if moved then return held(moved) end
local hold = find_hold(holds, from)
if not hold or hold.status == STATUS_KEPT then return { LEFT, now, -1 } end
if holds.has_more then return {} end

hold.status = STATUS_HELD
leave_out(holds, hold)
for _, kind in ipairs({ EXCLUSIVE, READ, PERMITS }) do
  if owns(holds, hold.owner, kind) then return { UPGRADE, now, -1 } end
end
drop_expired(holds)
hold.token = next_token(lease, 1, 1)
hold.id, hold.owner, hold.since, hold.ends = to, to, now, now + lease
add_hold(holds, hold)
if hold.kind == PERMITS then redis.call('PEXPIRE', LIMIT, LIMIT_RETENTION) end
grant_waiters(holds, nil, 0)
return held(hold)
