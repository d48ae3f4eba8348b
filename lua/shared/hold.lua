-- A hold as the state keeps it.
--- @include "shared/keys"
--- @include "shared/layout"
--- @include "shared/modes"

local function read_hold(id, text)
  local mode, ends, token, since, owner = string.match(text, '^(%S+) (%d+) (%d+) (%d+) (.+)$')
  if not mode then
    assert_layout(redis.call('HGET', STATE, 'layout'))
    error('WRONGTYPE the state key holds something that is no lock')
  end
  return with_mode({ id = id, ends = tonumber(ends), token = tonumber(token), since = tonumber(since), owner = owner }, mode)
end
