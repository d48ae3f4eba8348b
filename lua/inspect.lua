-- Reads the holders and waiters of a lock. Writes nothing. If there are many, they take several pages.
--
-- KEYS    1 state, 2 queue, 3 waiters, 4 fence, 5 tombstones, 6 limit, 7 ends
-- ARGV    1 page of the holders, 2 place of the first waiter (both at first: 0, then as in the last reply; '': none),
--         3 largest number of waiters in the reply, at least 1
-- Output  { last token, holds { id, owner, mode, token, ms left, since, 1: only kept, or 0 } ..., waiters { id, owner, mode, since } ...,
--           number of permits that was set at run time or -1, next page and next place ('': none) }
--
-- A hold or a waiter that exists while all pages are read is in one of them, or in several.
--- @include "shared/keys"
--- @include "shared/clock"
--- @include "shared/token"
--- @include "shared/modes"
--- @include "shared/hold"
--- @include "shared/queue"

-- A page has about this many holds. If there are not more, it has all.
local HOLDS_PER_PAGE = 48

local page, next_page, fields = ARGV[1], '0', {}
if page == '0' and redis.call('HLEN', STATE) <= HOLDS_PER_PAGE then
  fields = redis.call('HGETALL', STATE)
elseif page ~= '' then
  next_page, fields = unpack(redis.call('HSCAN', STATE, page, 'COUNT', HOLDS_PER_PAGE))
end

local holders = {}
for i = 1, #fields, 2 do
  -- The other fields of the many form begin with '#' (shared/holds.lua).
  if string.sub(fields[i], 1, 1) ~= '#' then
    local hold = read_hold(string.match(fields[i], '^%+?(.+)$'), fields[i + 1])
    if hold.ends > now then
      holders[#holders + 1] = { hold.id, hold.owner, hold.mode, hold.token, hold.ends - now, hold.since,
        hold.status == STATUS_KEPT and 1 or 0 }
    end
  end
end

local waiters, tickets, next_place = {}, {}, ''
if ARGV[2] ~= '' then tickets, next_place = read_places(ARGV[2], tonumber(ARGV[3])) end
for _, ticket in ipairs(tickets) do
  if ticket.stale_at > now then waiters[#waiters + 1] = { ticket.id, ticket.owner, ticket.mode, ticket.since } end
end
return { last_token(), holders, waiters, limit_set() or -1, next_page == '0' and '' or next_page, next_place }
