-- Answers questions about the holders of a lock. Does not read all of them if there are many, and grants nothing.
--
-- KEYS    1 state, 2 queue, 3 waiters, 4 fence, 5 tombstones, 6 limit, 7 ends
-- ARGV    1 'exclusive', 'read' or 'permits', 2 an owner ('': none)
-- Output  { ms left of the longest lease of this kind (-2: no hold), 1: the owner has such a hold, or 0,
--           permits in use, 1: there is a hold of another kind, or 0, number of permits that was set at run time or -1 };
--         an empty list: only the holds themselves tell (inspect.lua)
--- @include "shared/keys"
--- @include "shared/clock"
--- @include "shared/modes"
--- @include "shared/holds"
--- @include "shared/ends"

local kind, owner = ARGV[1], ARGV[2]
local holds = read_holds()
local sums = holds.sums
if holds.has_more then return {} end
local others = sums[kind] ~= sums.holds
local ends = sums[kind] > 0 and holds.only and holds.only.ends
if holds.is_many and sums[kind] > 0 then
  ends = 0
  local latest = read_latest(ENDS_PER_READ)
  for _, hold in ipairs(latest) do
    if hold.kind == kind then ends = math.max(ends, hold.ends) end
  end
  -- Another hold may have been renewed for longer, unless the state does not live longer either.
  if #latest == ENDS_PER_READ and (others or now + redis.call('PTTL', STATE) > ends + 1) then return {} end
end
return { ends and ends - now or -2, owner ~= '' and owns(holds, owner, kind) and 1 or 0, sums.units, others and 1 or 0,
  limit_set() or -1 }
