-- Ends the named holds of a lock, of any owner, and sends a message to their clients.
--
-- KEYS    1 state, 2 queue, 3 waiters, 4 fence, 5 tombstones, 6 limit
-- ARGV    1 address, 2 least lifetime in ms of a tombstone that stops `reinstate` (0: no tombstone),
--         then for each hold: id, time of its grant
-- Output  { number of holds ended, number of their clients that were subscribed, rank to go on from or -1 }
--
-- May arrive twice or late: a hold that was granted after the caller looked is not named, so it stays. The name of a hold
-- includes the time of its grant, because an acquisition that was ended by force may be granted again under its id.
--- @include "shared/keys"
--- @include "shared/clock"
--- @include "shared/holds"
--- @include "shared/messages-to-clients"
--- @include "shared/grant-waiters"
--- @include "shared/tombstones"

local lifetime, granted_at = tonumber(ARGV[2]), {}
for i = 3, #ARGV, 2 do granted_at[ARGV[i]] = tonumber(ARGV[i + 1]) end

local holds, ended = read_holds()
local kept, count, told = { crowd = holds.crowd }, 0, 0
local candidates = holds
if holds.crowd then
  candidates = {}
  for id in pairs(granted_at) do candidates[#candidates + 1] = find_hold(holds, id) end
end
for _, hold in ipairs(candidates) do
  if granted_at[hold.id] == hold.since then
    if holds.crowd then holds.crowd.remove(hold) end
    redis.call('HDEL', STATE, hold.id)
    count = count + 1
    if receives_revocation(hold.id) then told = told + 1 end
    if lifetime > 0 then write_tombstone(revocation(hold.id), math.max(hold.ends - now, lifetime)) end
    publish_revoked(hold)
  else
    kept[#kept + 1] = hold
  end
end
if holds.crowd then
  holds.crowd.close_if_few()
  kept, ended = read_holds()
end
if count > 0 then set_state_ttl(kept) end
return { count, told, grant_waiters(kept, ended, nil, 0) or -1 }
