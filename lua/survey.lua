-- Answers questions about the holders of a lock. Does not read all of them if there are many, and grants nothing.
--
-- KEYS    1 state, 2 queue, 3 waiters, 4 fence, 5 tombstones, 6 limit
-- ARGV    1 'exclusive', 'read' or 'permits', 2 an owner ('': none)
-- Output  { ms left of the longest lease of this kind (-2: no hold), 1: the owner has such a hold, or 0,
--           permits in use, 1: there is a hold of another kind, or 0, number of permits that was set at run time or -1 };
--         an empty list: only the holds themselves tell (inspect.lua)
--- @include "shared/clock"
--- @include "shared/limit"
--- @include "shared/holds"

local kind, owner = ARGV[1], ARGV[2]
local holds = read_holds()
local ends, owned, units, others

if holds.crowd then
  local crowd = holds.crowd
  others = not crowd.has_only(kind)
  if crowd.has_more or others and crowd.has(kind) then return {} end
  ends, units = not others and crowd.end_of_lease(true), crowd.units()
  owned = owner ~= '' and crowd.owns(owner, kind)
else
  units = 0
  for _, hold in ipairs(holds) do
    units = units + (hold.units or 0)
    if hold.kind == kind then
      ends = math.max(ends or 0, hold.ends)
      owned = owned or hold.owner == owner and not hold.kept
    else
      others = true
    end
  end
end
return { ends and ends - now or -2, owned and 1 or 0, units, others and 1 or 0, limit_set() or -1 }
