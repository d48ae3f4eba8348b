-- Takes the lock, or a place in its queue.
--
-- KEYS  state, queue, waiters, fence, gone, limit
-- ARGV  1 address (see shared/messages.lua), 2… request (see shared/request.lua)
-- Reply see shared/ask.lua
--
-- May arrive twice or late: its effect is that of arriving once.
--- @include "shared/keys"
--- @include "shared/replies"
--- @include "shared/clock"
--- @include "shared/token"
--- @include "shared/hold-record"

-- The common case first, before the rest of the script is even looked at: nobody has it, and nobody waits.
if ARGV[3] == EXCLUSIVE and redis.call('EXISTS', STATE, QUEUE, GONE) == 0 then
  local id, lease = ARGV[2], tonumber(ARGV[5])
  local token, turns = next_token(lease, math.max(1, ARGV[6]))
  write_hold({ id = id, mode = EXCLUSIVE, ends = now + lease, token = token, since = now,
    owner = ARGV[4] == '' and id or ARGV[4] })
  redis.call('PEXPIRE', STATE, ARGV[5])
  return { HELD, now, token, lease, turns }
end

--- @include "shared/modes"
--- @include "shared/holds"
--- @include "shared/request"
--- @include "shared/messages"
--- @include "shared/queue"
--- @include "shared/settle"
--- @include "shared/ask"

return ask(request_at(2))
