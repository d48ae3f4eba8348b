-- Grants the lock: writes a new hold with the next fencing token.
--- @include "shared/keys"
--- @include "shared/clock"
--- @include "shared/token"
--- @include "shared/modes"
--- @include "shared/hold"
--- @include "shared/holds"
--- @include "shared/queue"

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
