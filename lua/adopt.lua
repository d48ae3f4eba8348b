-- Takes a hold over that another client has offered (offer.lua): compares the id of the offer, and sets the id of the new
-- holder, a new fencing token and a new lease. The mode stays. Of several clients that know the offer one succeeds.
--
-- KEYS    1 state, 2 queue, 3 waiters, 4 fence, 5 tombstones, 6 limit, 7 ends
-- ARGV    1 address, 2 offer id, 3 acquisition id, 4 lease in ms
-- Output  { HELD, now, token, ms of lease left, batch size }, and how many permits a hold of permits has; { LEFT, now }: there is no such offer any more
--
-- May arrive twice or late: a second copy finds the new hold, and changes nothing.
--- @include "shared/keys"
--- @include "shared/reply-codes"
--- @include "shared/clock"
--- @include "shared/token"
--- @include "shared/modes"
--- @include "shared/holds"
--- @include "shared/hold"
--- @include "shared/request"
--- @include "shared/grant-waiters"

local offer, id, lease = ARGV[2], ARGV[3], tonumber(ARGV[4])
local holds = read_holds(offer)
local mine = find_hold(holds, id)
if mine then return held(mine) end
local hold = find_hold(holds, offer)
if not hold then return { LEFT, now } end

remove_hold(holds, hold)
hold.token = next_token(lease, 1, 1)
hold.id, hold.owner, hold.since, hold.ends, hold.status = id, id, now, now + lease, STATUS_HELD
add_hold(holds, hold)
if hold.kind == PERMITS then redis.call('PEXPIRE', LIMIT, LIMIT_RETENTION) end
grant_waiters(holds, nil, 0)
return held(hold)
