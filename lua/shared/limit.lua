-- The number of permits of a lock.
--- @include "shared/keys"

-- The number of permits that was set at run time (nil: none was), and its version.
local function limit_set()
  local permits, version = string.match(redis.call('GET', LIMIT) or '', '^(%d+) ?(%d*)$')
  return tonumber(permits), version and version ~= '' and version or '0'
end

-- The number of permits: the one set at run time, or else the one in the request.
local function limit_for(request)
  return limit_set() or request.limit
end
