-- Modes: how a lock is held.
--
--   'exclusive'    by one owner
--   'read'         together with other readers
--   'permits:2/9'  as two of nine permits; in a request that does not wait, 0 of them: all that are free
--   'permits:2/9*3'  in a request: as two of nine permits for each of up to three waiters. The request needs room for one of
--                  them. The hold has the sum: 'permits:6/9' if three fit
--   'kept:' ...    released, and kept for the rest of its holdAtLeast
--   'pushed:' ...  granted by a message, and the client has not sent a command about the hold since
--   'alone:' ...   permits with an uncontended batch, and no other client has requested the lock since

local EXCLUSIVE, READ, PERMITS, KEPT, PUSHED, ALONE = 'exclusive', 'read', 'permits', 'kept:', 'pushed:', 'alone:'
-- A number of permits that was set at run time expires this many ms (one week) after the last grant of a permit.
--- @export
local LIMIT_RETENTION = 604800000

-- Adds the parts of a mode to a hold, a ticket or a request.
local function with_mode(record, mode)
  if mode ~= EXCLUSIVE and string.sub(mode, 1, #PUSHED) == PUSHED then
    record.pushed, mode = true, string.sub(mode, #PUSHED + 1)
  end
  if mode == EXCLUSIVE then -- the common case first
    record.mode, record.kind, record.kept = mode, mode, false
    return record
  end
  if string.sub(mode, 1, #ALONE) == ALONE then record.alone, mode = true, string.sub(mode, #ALONE + 1) end
  record.mode, record.kept = mode, string.sub(mode, 1, #KEPT) == KEPT
  local kind, units, limit, slots = string.match(mode, '^(%a+):?(%d*)/?(%d*)%*?(%d*)$', record.kept and #KEPT + 1 or 1)
  record.kind, record.units, record.limit, record.slots = kind, tonumber(units), tonumber(limit), tonumber(slots)
  return record
end

local function owns(holds, request, kind)
  if holds.crowd then return holds.crowd.owns(request.owner, kind) end
  for _, hold in ipairs(holds) do
    if hold.owner == request.owner and hold.kind == kind and not hold.kept then return true end
  end
  return false
end

-- Whether the owner may re-enter: an exclusive owner may also read.
local function reenters(holds, request)
  if request.kind == PERMITS then return false end
  return owns(holds, request, EXCLUSIVE) or request.kind == READ and owns(holds, request, READ)
end

-- Whether a reader requests the exclusive lock: it would wait for its own read hold.
local function upgrades(holds, request)
  return request.kind == EXCLUSIVE and owns(holds, request, READ) and not owns(holds, request, EXCLUSIVE)
end

-- Whether a request asks for more permits than exist: it would wait forever, and block the queue. A limit of 0 pauses the
-- semaphore, and every request waits.
local function exceeds_limit(request)
  if request.kind ~= PERMITS then return false end
  --- @include "shared/limit"
  local limit = limit_for(request)
  return limit > 0 and request.units > limit
end

-- Whether a request is compatible with the present holds. Notes how many permits are `free`, for the grant.
local function admits(holds, request)
  if request.kind ~= PERMITS and (#holds == 0 and not holds.crowd or reenters(holds, request)) then return true end
  if request.kind == EXCLUSIVE then return false end
  local used = 0
  if holds.crowd then
    if not holds.crowd.has_only(request.kind) then return false end
    used = holds.crowd.units()
  end
  for _, hold in ipairs(holds) do
    if hold.kind ~= request.kind then return false end
    used = used + (hold.units or 0)
  end
  if request.kind == READ then return true end
  --- @include "shared/limit"
  request.free = limit_for(request) - used
  return (request.units > 0 or request.drains) and request.free >= math.max(1, request.units)
end

-- Whether the lock is held exclusively, so that no other owner can be granted.
local function is_closed(holds)
  if holds.crowd then return holds.crowd.has(EXCLUSIVE) end
  for _, hold in ipairs(holds) do
    if hold.kind == EXCLUSIVE then return true end
  end
  return false
end
