-- Answers a request whose acquisition holds the lock already.
--- @include "shared/token"
--- @include "shared/holds"
--- @include "shared/request"
--- @include "shared/reply-codes"
--- @include "shared/queue"

-- A command may arrive twice. A pushed grant becomes a full lease, as if it had been full from the start, so a duplicate
-- that arrives late makes no fixed lease longer.
local function complete(holds, hold, request)
  -- While this hold is the only one, its batch has the last tokens.
  local alone = #holds == 1 and request.batch_size > 1 and not fair_waits()
  hold.batch_size = alone and last_token() - hold.token + 1 or 1
  local ends, was_pushed = math.max(hold.ends, hold.since + request.lease), hold.pushed
  if ends > hold.ends or was_pushed then
    hold.ends, hold.pushed = ends, nil
    set_state_ttl(holds, hold) -- before the other write: Redis refuses only the first write of a script for lack of memory
    write_hold(hold, holds)
  end
  return held(hold, was_pushed and HELD_PUSHED)
end
