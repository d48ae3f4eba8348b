-- Gives a hold that a majority of several masters has its vote again on a master that has lost its data. The hold passes
-- the queue, as re-entry does. A hold that was ended by force, or an acquisition that was abandoned, gets no vote.
--
-- KEYS    1 state, 2 queue, 3 waiters, 4 fence, 5 tombstones, 6 limit, 7 ends
-- ARGV    1 hold id, 2 mode, 3 owner ('': the id), 4 ms of lease left (0: only look),
--         5 latest end of the lease by this server's clock, in ms (0: not known),
--         6 token, 7 number of tokens to reserve, from that one on
-- Output  1: held; 0: not held; -1: a tombstone says that it was ended by force
--
-- May arrive twice or late: the script never prolongs a hold, and a release that leaves a tombstone stops it.
--- @include "shared/keys"
--- @include "shared/clock"
--- @include "shared/token"
--- @include "shared/modes"
--- @include "shared/hold"
--- @include "shared/holds"
--- @include "shared/admission"
--- @include "shared/queue"
--- @include "shared/records"

local id, mode, owner = ARGV[1], ARGV[2], ARGV[3] == '' and ARGV[1] or ARGV[3]
local left, latest, token, last_of_all = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[6] + ARGV[7] - 1

if has_record(TOMBSTONES, revocation(id)) then return -1 end
local holds = read_holds(id)
if find_hold(holds, id) then return 1 end
local hold = with_mode({ id = id, status = STATUS_HELD, owner = owner, ends = now + left, token = token, since = now }, mode)
if latest > 0 then hold.ends = math.min(hold.ends, latest) end
if hold.ends <= now or has_record(TOMBSTONES, id) or not admits(holds, hold) then return 0 end

drop_expired(holds)
drop_ticket(id)
remember_token(math.max(last_token(), last_of_all), left)
add_hold(holds, hold)
return 1
