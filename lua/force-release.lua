-- Ends the named holds of a lock, of any owner, and sends a message to their clients.
--
-- KEYS    1 state, 2 queue, 3 waiters, 4 fence, 5 tombstones, 6 limit, 7 ends
-- ARGV    1 address, 2 least lifetime in ms of a tombstone that stops `reinstate` (0: no tombstone),
--         3 who releases (written by `writeBy` in lib/store/redis/replies.ts), then for each hold: id, time of its grant
-- Output  { number of holds ended, number of their clients that were subscribed, rank to go on from or -1 }
--
-- May arrive twice or late: a hold that was granted after the caller looked is not named, so it stays. The name of a hold
-- includes the time of its grant, because an acquisition that was ended by force may be granted again under its id.
--- @include "shared/keys"
--- @include "shared/clock"
--- @include "shared/holds"
--- @include "shared/messages"
--- @include "shared/grant-waiters"
--- @include "shared/records"

local lifetime, granted_at = tonumber(ARGV[2]), {}
for i = 4, #ARGV, 2 do granted_at[ARGV[i]] = tonumber(ARGV[i + 1]) end

local holds, ended, told = read_holds(), {}, 0
for id, since in pairs(granted_at) do
  local hold = find_hold(holds, id)
  if hold and hold.since == since then
    remove_hold(holds, hold)
    ended[#ended + 1] = hold
    if receives_revocation(id) then told = told + 1 end
    if lifetime > 0 then write_record(TOMBSTONES, revocation(id), math.max(hold.ends - now, lifetime)) end
  end
end
local function tell_ended(next_id)
  for _, hold in ipairs(ended) do publish_revoked(hold, ARGV[3], next_id) end
end
local more = grant_waiters(holds, nil, 0, tell_ended)
return { #ended, told, more }
