-- Has holders end their batches: another client waits, or more permits are in use than exist.
--- @include "shared/keys"
--- @include "shared/messages"
--- @include "shared/hold"
--- @include "shared/holds"
--- @include "shared/ends"

-- Sends the message to the latest holders: a batch ends soon after its grant.
local function end_batches(holds)
  for _, hold in ipairs(holds.only and { holds.only } or holds.is_many and read_latest(MAX_HOLDERS) or {}) do
    if hold.status ~= STATUS_KEPT then publish_yield(hold.id) end
  end
end

-- Sends the message to each holder of another client than that of a request that has an uncontended batch, and removes its
-- mark, so that it gets one message. Returns whether there may be more of them.
local function end_uncontended_batches(holds, request)
  local client, ended = client_of(request.id), 0
  local only = holds.only
  if only and only.status == STATUS_ALONE and client_of(only.id) ~= client then
    only.status = STATUS_HELD
    write_hold(holds, only)
    publish_yield(only.id)
  end
  if holds.sums.marked == 0 then return false end
  -- Of all marks, those of one client stand together. So those of the others are at both ends.
  local function end_until_own(marks)
    for _, mark in ipairs(marks) do
      local id = string.sub(mark, 2)
      if client_of(id) == client then return end
      redis.call('ZREM', ENDS, mark)
      publish_yield(id)
      ended = ended + 1
    end
  end
  end_until_own(redis.call('ZRANGE', ENDS, '-inf', '(0', 'BYSCORE', 'LIMIT', 0, ENDS_PER_READ))
  end_until_own(redis.call('ZRANGE', ENDS, '(0', '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, ENDS_PER_READ - ended))
  if ended == 0 then return false end
  holds.sums.marked = holds.sums.marked - ended
  write_sums(holds.sums)
  return ended == ENDS_PER_READ
end

-- Without a message, the holders would hand their permits to their next local waiters although there are too many holders.
local function end_batches_beyond(limit, holds)
  if holds.sums.units > limit then end_batches(holds) end
end
