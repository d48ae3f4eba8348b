-- Ends the named holds of a lock, whoever has them, and tells their holders.
--
-- KEYS  state, queue, waiters, fence, gone, limit
-- ARGV  1 address, 2 ms for which no vote of such a hold is taken again here, at least (0: it needs no votes), then for each
--       hold: id, when it was granted
-- Reply holds ended, clients of theirs that were there to be told, place to go on from or -1
--
-- May arrive twice or late: a hold that was granted after the caller looked is not named, so it stays. The time of the
-- grant is a part of the name because an acquisition that was ended by force may be granted again under its id.
--- @include "shared/keys"
--- @include "shared/clock"
--- @include "shared/token"
--- @include "shared/modes"
--- @include "shared/holds"
--- @include "shared/messages"
--- @include "shared/queue"
--- @include "shared/settle"
--- @include "shared/gone"

local memory, granted_at = tonumber(ARGV[2]), {}
for i = 3, #ARGV, 2 do granted_at[ARGV[i]] = tonumber(ARGV[i + 1]) end

local holds, ended = read_holds()
local kept, count, told = {}, 0, 0
for _, hold in ipairs(holds) do
  if granted_at[hold.id] == hold.since then
    redis.call('HDEL', STATE, hold.id)
    count = count + 1
    if hears_of_end(hold.id) then told = told + 1 end
    if memory > 0 then remember_left(revoked(hold.id), math.max(hold.ends - now, memory)) end
    tell_revoked(hold)
  else
    kept[#kept + 1] = hold
  end
end
if count > 0 then set_state_ttl(kept) end
return { count, told, settle(kept, ended, nil, 0) or -1 }
