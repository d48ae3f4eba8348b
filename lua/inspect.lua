-- Reads the holders and waiters of a lock. Writes nothing.
--
-- KEYS    1 state, 2 queue, 3 waiters, 4 fence, 5 tombstones, 6 limit
-- ARGV    1 largest number of waiters in the reply, at least 1
-- Output  { last token, holds { id, owner, mode, token, ms left, since } ..., waiters { id, owner, mode } ...,
--           number of permits that was set at run time or -1 }
--- @include "shared/clock"
--- @include "shared/token"
--- @include "shared/limit"
--- @include "shared/holds"
--- @include "shared/read-tickets"

local holders = {}
for _, hold in ipairs((read_holds())) do
  holders[#holders + 1] = { hold.id, hold.owner, hold.mode, hold.token, hold.ends - now, hold.since }
end

local waiters = {}
for _, ticket in ipairs(read_all_tickets(tonumber(ARGV[1]))) do
  if ticket.stale_at > now then waiters[#waiters + 1] = { ticket.id, ticket.owner, ticket.mode } end
end
return { last_token(), holders, waiters, limit_set() or -1 }
