-- Gives a hold that stands on a majority of several masters its vote again on one that has lost its data. It passes the
-- queue, as re-entry does. Whoever was ended by force, or has left, gets nothing.
--
-- KEYS  state, queue, waiters, fence, gone, limit
-- ARGV  1 hold id, 2 mode, 3 owner ('': its own id), 4 ms of lease that are left (0: only look),
--       5 when that ends at the latest by this server's clock, in ms (0: not known),
--       6 token, 7 how many tokens from that one on nobody else is to get
-- Reply 1: it is held; 0: it is not; -1: it has left, or was ended by force
--
-- May arrive twice or late: it never prolongs a hold, and never falls behind a release that remembers it.
--- @include "shared/keys"
--- @include "shared/clock"
--- @include "shared/token"
--- @include "shared/modes"
--- @include "shared/holds"
--- @include "shared/queue"
--- @include "shared/gone"

local id, mode, owner = ARGV[1], ARGV[2], ARGV[3] == '' and ARGV[1] or ARGV[3]
local left, latest, token, last_of_all = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[6] + ARGV[7] - 1

if has_left(id) or has_left(revoked(id)) then return -1 end
local holds, ended = read_holds()
if find_hold(holds, id) then return 1 end
local hold = with_mode({ id = id, owner = owner, ends = now + left, token = token, since = now }, mode)
if latest > 0 then hold.ends = math.min(hold.ends, latest) end
if hold.ends <= now or not admits(holds, hold) then return 0 end

drop_ended(ended)
drop_ticket(id)
remember_token(math.max(last_token(), last_of_all), left)
holds[#holds + 1] = hold
write_hold(hold)
set_state_ttl(holds)
return 1
