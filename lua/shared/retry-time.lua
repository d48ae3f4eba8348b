-- When a waiter retries.
--- @include "shared/clock"
--- @include "shared/modes"
--- @include "shared/retry-places"

-- The latest time at which a request becomes grantable (nil: there are no holds). An exclusive request needs the end of
-- all leases, other requests need the end of the first one.
local function free_at(holds, request)
  local pick = request.kind == EXCLUSIVE and math.max or math.min
  local ends
  for _, hold in ipairs(holds) do ends = pick(ends or hold.ends, hold.ends) end
  return ends
end

-- When a waiter retries: after its period, or when the leases that block it have ended.
local function retry_time(holds, rank, request)
  local free = free_at(holds, request)
  if not free then return now + request.period end
  return math.min(now + request.period, free + RETRY_AFTER_EXPIRY + math.min(rank, MAX_RETRY_PLACES) * RETRY_PER_PLACE)
end
