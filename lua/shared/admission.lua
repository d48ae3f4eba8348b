-- Decides which requests the present holds admit.
--- @include "shared/modes"
--- @include "shared/holds"

-- Whether the owner may re-enter: an exclusive owner may also read.
local function reenters(holds, request)
  if request.kind == PERMITS then return false end
  return owns(holds, request.owner, EXCLUSIVE) or request.kind == READ and owns(holds, request.owner, READ)
end

-- Whether a reader requests the exclusive lock: it would wait for its own read hold.
local function upgrades(holds, request)
  return request.kind == EXCLUSIVE and owns(holds, request.owner, READ) and not owns(holds, request.owner, EXCLUSIVE)
end

-- Whether a request asks for more permits than exist: it would wait forever, and block the queue. A limit of 0 pauses the
-- semaphore, and every request waits.
local function exceeds_limit(request)
  if request.kind ~= PERMITS then return false end
  local limit = limit_for(request)
  return limit > 0 and request.units > limit
end

-- Whether a request is compatible with the present holds. Notes how many permits are `free`, for the grant.
local function admits(holds, request)
  local sums = holds.sums
  if request.kind ~= PERMITS and (sums.holds == 0 or reenters(holds, request)) then return true end
  if request.kind == EXCLUSIVE or sums[request.kind] ~= sums.holds then return false end
  if request.kind == READ then return true end
  request.free = limit_for(request) - sums.units
  return (request.units > 0 or request.drains) and request.free >= math.max(1, request.units)
end

-- Whether the lock is held exclusively, so that no other owner can be granted.
local function is_closed(holds)
  return holds.sums.exclusive > 0
end
