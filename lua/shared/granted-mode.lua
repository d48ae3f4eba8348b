-- The mode of a hold whose request does not say how many permits it gets.
--- @include "shared/clock"
--- @include "shared/modes"
--- @include "shared/queue"

-- Returns the mode, and the number of slots: how many waiters of the client hold permits at the same time. `admits` has
-- noted how many permits are free. While a fair request waits, a grant serves one waiter.
local function granted_mode(request)
  local units, slots = request.free, 1
  if not request.drains then
    slots = fair_waits() and 1 or math.max(1, math.min(request.slots, math.floor(request.free / request.units)))
    units = slots * request.units
  end
  return PERMITS .. ':' .. integer(units) .. '/' .. integer(request.limit), slots
end
