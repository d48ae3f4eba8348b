-- Grants the lock: writes a new hold with the next fencing token.
--- @include "shared/keys"
--- @include "shared/clock"
--- @include "shared/token"
--- @include "shared/modes"
--- @include "shared/hold"
--- @include "shared/holds"
--- @include "shared/queue"
--- @include "shared/request"
--- @include "shared/reply-codes"
--- @include "shared/admission"

-- One grant serves this many waiters of a client while no other client waits: enough for all of localHandoffTime.
--- @export
local UNCONTENDED_BATCH_SIZE = 1000

-- The mode of a hold whose request does not say how many permits it gets, and the number of slots: how many waiters of the
-- client hold permits at the same time. `admits` has noted how many permits are free. While a fair request waits, a grant
-- serves one waiter.
local function granted_mode(request)
  local units, slots = request.free, 1
  if not request.drains then
    slots = fair_waits() and 1 or math.max(1, math.min(request.slots, math.floor(request.free / request.units)))
    units = slots * request.units
  end
  return PERMITS .. ':' .. integer(units) .. '/' .. integer(request.limit), slots
end

-- Reserves one token for each waiter of the batch, and for each slot.
local function grant(holds, request, lease, batch_size, pushed)
  local mode, slots = request.mode, 1
  if request.slots or request.drains then mode, slots = granted_mode(request) end
  local token, reserved = next_token(lease, batch_size, slots)
  local alone = request.kind == PERMITS and batch_size >= UNCONTENDED_BATCH_SIZE
  local hold = with_mode({ id = request.id, status = pushed and STATUS_PUSHED or alone and STATUS_ALONE or STATUS_HELD,
    ends = now + lease, token = token, since = now, owner = request.owner, batch_size = reserved }, mode)
  add_hold(holds, hold)
  if request.kind == PERMITS then redis.call('PEXPIRE', LIMIT, LIMIT_RETENTION) end
  return hold
end

-- Answers a request whose acquisition holds the lock already. A command may arrive twice. A pushed grant becomes a full
-- lease, as if it had been full from the start, so a duplicate that arrives late makes no fixed lease longer.
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

-- Answers the requests that need no look at the queue: the acquisition holds the lock already, or the holds admit it and no
-- client waits. Returns the reply; nil: the request needs more.
local function grant_at_once(holds, request)
  local mine = find_hold(holds, request.id)
  if mine then return complete(holds, mine, request) end
  if admits(holds, request) and redis.call('EXISTS', QUEUE, TOMBSTONES) == 0 then
    return held(grant(holds, request, request.lease, request.uncontended_batch_size))
  end
end
