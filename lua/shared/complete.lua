-- Answers a request whose acquisition holds the lock already.
--- @include "shared/token"
--- @include "shared/modes"
--- @include "shared/holds"
--- @include "shared/hold"
--- @include "shared/request"
--- @include "shared/reply-codes"
--- @include "shared/queue"

-- A command may arrive twice. A pushed grant becomes a full lease, as if it had been full from the start, so a duplicate
-- that arrives late makes no fixed lease longer.
local function complete(holds, hold, request)
  -- While an exclusive hold is the only one, its batch has the last tokens. Later holds of permits may have ended before.
  local has_last = holds.only and hold.kind == EXCLUSIVE and request.batch_size > 1 and not fair_waits()
  local slots = math.max(1, math.floor((hold.units or 1) / math.max(1, request.units or 1)))
  hold.batch_size = has_last and last_token() - hold.token + 1 or slots
  local ends, was_pushed = math.max(hold.ends, hold.since + request.lease), hold.status == STATUS_PUSHED
  if ends > hold.ends or was_pushed then
    hold.ends, hold.status = ends, was_pushed and STATUS_HELD or hold.status
    keep_state_for(holds, hold) -- before the other write: Redis refuses only the first write of a script for lack of memory
    write_hold(holds, hold)
  end
  return held(hold, was_pushed and HELD_PUSHED)
end
