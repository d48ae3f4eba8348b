-- Reads modes: how a lock is held, or is to be held.
--
--   'exclusive'    by one owner
--   'read'         together with other readers
--   'permits:2/9'  as two of nine permits; in a request that does not wait, 0 of them: all that are free
--   'permits:2/9*3'  in a request: as two of nine permits for each of up to three waiters. The request needs room for one of
--                  them. The hold has the sum: 'permits:6/9' if three fit
--- @include "shared/keys"

local EXCLUSIVE, READ, PERMITS = 'exclusive', 'read', 'permits'
-- A number of permits that was set at run time expires this many ms (one week) after the last grant of a permit.
--- @export
local LIMIT_RETENTION = 604800000

-- A semaphore has at most this many permits: Lua and JavaScript do not add larger numbers exactly.
--- @export
local MOST_PERMITS = 5000000000000000

-- Adds the parts of a mode to a hold, a ticket or a request.
local function with_mode(record, mode)
  record.mode, record.kind = mode, mode
  if mode == EXCLUSIVE or mode == READ then return record end
  local units, limit, slots = string.match(mode, '^permits:(%d+)/(%d+)%*?(%d*)$')
  record.kind, record.units, record.limit, record.slots = PERMITS, tonumber(units), tonumber(limit), tonumber(slots)
  return record
end

-- The number of permits that was set at run time (nil: none was), and its version.
local function limit_set()
  local permits, version = string.match(redis.call('GET', LIMIT) or '', '^(%d+) ?(%d*)$')
  return tonumber(permits), version and version ~= '' and version or '0'
end

-- The number of permits: the one set at run time, or else the one in the request.
local function limit_for(request)
  return limit_set() or request.limit
end
