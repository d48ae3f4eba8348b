-- Reads and writes a hold as the state keeps it: 'mode status ends token since owner'.
--
-- The status is
--   'pushed'  granted by a message, and the client has not sent a command about the hold since;
--   'held'    granted by a reply, or the client has sent such a command;
--   'alone'   the same, of permits with an uncontended batch (shared/end-batches.lua);
--   'kept'    released, and kept for the rest of its holdAtLeast. It counts as before, but has no owner any more.
--- @include "shared/keys"
--- @include "shared/modes"

local STATUS_PUSHED, STATUS_HELD, STATUS_ALONE, STATUS_KEPT = 'pushed', 'held', 'alone', 'kept'

local function read_hold(id, text)
  local mode, status, ends, token, since, owner = string.match(text, '^(%S+) (%a+) (%d+) (%d+) (%d+) (.+)$')
  if not mode then
    assert_layout(redis.call('HGET', STATE, 'layout') or string.find(text, '^%S+ %d+ %d+ %d+ ') and 1)
    error('WRONGTYPE the state key holds something that is no lock')
  end
  return with_mode({ id = id, status = status, ends = tonumber(ends), token = tonumber(token), since = tonumber(since),
    owner = owner }, mode)
end

local function text_of(hold)
  return string.format('%s %s %.0f %.0f %.0f %s', hold.mode, hold.status, hold.ends, hold.token, hold.since, hold.owner)
end
