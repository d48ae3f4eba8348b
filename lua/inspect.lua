-- Tells who holds a lock and who waits for it. Writes nothing.
--
-- KEYS  state, queue, waiters, fence, gone, limit
-- ARGV  1 most waiters to tell, at least 1
-- Reply last token, holds { id, owner, mode, token, ms left, since … }, waiters { id, owner, mode … },
--       number of permits that was set at run time or -1
--- @include "shared/keys"
--- @include "shared/clock"
--- @include "shared/token"
--- @include "shared/modes"
--- @include "shared/holds"
--- @include "shared/queue"

local holders = {}
for _, hold in ipairs((read_holds())) do
  holders[#holders + 1] = { hold.id, hold.owner, hold.mode, hold.token, hold.ends - now, hold.since }
end

local waiters = {}
for _, ticket in ipairs(read_all_tickets(tonumber(ARGV[1]))) do
  if ticket.stale_at > now then waiters[#waiters + 1] = { ticket.id, ticket.owner, ticket.mode } end
end
return { last_token(), holders, waiters, limit_set() or -1 }
