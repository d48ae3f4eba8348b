-- Raises the fencing token of a hold that stands on several masters, so that the next holder's is larger on each of them.
--
-- KEYS  state, queue, waiters, fence, gone, limit
-- ARGV  1 hold id, 2 token
-- Reply 1, ms left: the token is the hold's now; or 0, ms left, last token: somebody has had this one or a larger one;
--       or -1: it is not held
--
-- May arrive twice or late: a token never falls, and one that a hold has already is told again.
--- @include "shared/keys"
--- @include "shared/clock"
--- @include "shared/token"
--- @include "shared/modes"
--- @include "shared/holds"

local token = tonumber(ARGV[2])
local hold = find_hold(read_holds(), ARGV[1])
if not hold or hold.kept then return { -1 } end
local left = hold.ends - now
local last = last_token()
if last == token and hold.token == token then return { 1, left } end
if last >= token then return { 0, left, last } end

redis.call('SET', FENCE, integer(token), 'PX', integer(math.max(redis.call('PTTL', FENCE), FENCE_MEMORY + left)))
hold.token = token
write_hold(hold)
return { 1, left }
