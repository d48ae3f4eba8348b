-- Reads modes: how a lock is held, or is to be held.
--
--   'exclusive'    by one owner
--   'read'         together with other readers
--   'permits:2/9'  as two of nine permits; in a request that does not wait, 0 of them: all that are free
--   'permits:2/9*3'  in a request: as two of nine permits for each of up to three waiters. The request needs room for one of
--                  them. The hold has the sum: 'permits:6/9' if three fit

local EXCLUSIVE, READ, PERMITS = 'exclusive', 'read', 'permits'
-- A number of permits that was set at run time expires this many ms (one week) after the last grant of a permit.
--- @export
local LIMIT_RETENTION = 604800000

-- Adds the parts of a mode to a hold, a ticket or a request.
local function with_mode(record, mode)
  record.mode, record.kind = mode, mode
  if mode == EXCLUSIVE or mode == READ then return record end
  local units, limit, slots = string.match(mode, '^permits:(%d+)/(%d+)%*?(%d*)$')
  record.kind, record.units, record.limit, record.slots = PERMITS, tonumber(units), tonumber(limit), tonumber(slots)
  return record
end
