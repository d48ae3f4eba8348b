-- Modes: in which way a lock is held. 'exclusive': alone. 'read': together with other readers. 'permits:2/5': as two of
-- five permits. With 'kept:' before it: given back already, and kept for the rest of its holdAtLeast. With 'pushed:'
-- before it: granted by a message, and its client has not been heard of since.
local EXCLUSIVE, READ, PERMITS, KEPT, PUSHED = 'exclusive', 'read', 'permits', 'kept:', 'pushed:'
-- A number of permits that was set at run time is forgotten when nobody has had one in so many ms: a week.
local LIMIT_MEMORY = 604800000

-- Gives a hold, a ticket or a request the parts of its mode.
local function with_mode(record, mode)
  if mode == EXCLUSIVE then -- the common case first
    record.mode, record.kind, record.kept = mode, mode, false
    return record
  end
  if string.sub(mode, 1, #PUSHED) == PUSHED then
    record.pushed, mode = true, string.sub(mode, #PUSHED + 1)
  end
  record.mode, record.kept = mode, string.sub(mode, 1, #KEPT) == KEPT
  local kind, units, limit = string.match(mode, '^(%a+):?(%d*)/?(%d*)$', record.kept and #KEPT + 1 or 1)
  record.kind, record.units, record.limit = kind, tonumber(units), tonumber(limit)
  return record
end

local function owns(holds, request, kind)
  for _, hold in ipairs(holds) do
    if hold.owner == request.owner and hold.kind == kind and not hold.kept then return true end
  end
  return false
end

-- Whether the owner has the lock already, in a way that lets it in again: whoever has it alone may also read.
local function reenters(holds, request)
  if request.kind == PERMITS then return false end
  return owns(holds, request, EXCLUSIVE) or request.kind == READ and owns(holds, request, READ)
end

-- A reader that wants the lock alone would wait for itself.
local function upgrades(holds, request)
  return request.kind == EXCLUSIVE and owns(holds, request, READ) and not owns(holds, request, EXCLUSIVE)
end

-- The number of permits that was set at run time, if one was, and the version of that.
local function limit_set()
  local permits, version = string.match(redis.call('GET', LIMIT) or '', '^(%d+) ?(%d*)$')
  return tonumber(permits), version and version ~= '' and version or '0'
end

-- The number of permits: as it was set at run time, or else as it stands in the request.
local function limit_for(request)
  return limit_set() or request.limit
end

-- Whether a request asks for more permits than there are: it would wait for ever, and all behind it. With a total of 0
-- the semaphore is paused, and every request waits.
local function exceeds_limit(request)
  if request.kind ~= PERMITS then return false end
  local limit = limit_for(request)
  return limit > 0 and request.units > limit
end

-- Whether somebody may come in beside those who are in already.
local function admits(holds, request)
  if request.kind ~= PERMITS and (#holds == 0 or reenters(holds, request)) then return true end
  if request.kind == EXCLUSIVE then return false end
  local used = 0
  for _, hold in ipairs(holds) do
    if hold.kind ~= request.kind then return false end
    used = used + (hold.units or 0)
  end
  return request.kind == READ or used + request.units <= limit_for(request)
end

-- Whether somebody has the lock alone, so that nobody else can come in.
local function is_closed(holds)
  for _, hold in ipairs(holds) do
    if hold.kind == EXCLUSIVE then return true end
  end
  return false
end
