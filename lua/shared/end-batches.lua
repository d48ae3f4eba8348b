-- Has holders end their batches: another client waits, or more permits are in use than exist.
--- @include "shared/client"
--- @include "shared/modes"
--- @include "shared/holds"
--- @include "shared/messages-to-clients"

-- Of many holds, a script looks at this many of the latest: a batch ends soon after its grant.
local HOLDS_READ = 32

-- `is_meant`: whether the message is for a hold.
local function end_batches(holds, is_meant)
  local named = {}
  for _, hold in ipairs(holds.crowd and holds.crowd.latest(HOLDS_READ) or holds) do
    if #named < MAX_HOLDERS and not hold.kept and is_meant(hold) then named[#named + 1] = hold end
  end
  for _, hold in ipairs(named) do
    if hold.alone then
      hold.alone = nil
      write_hold(hold)
    end
  end
  for _, hold in ipairs(named) do publish_yield(hold) end
end

-- The uncontended batches of other clients than that of a request. Each of them gets one message.
local function end_uncontended_batches(holds, request)
  local client = client_of(request.id)
  end_batches(holds, function(hold) return hold.alone and client_of(hold.id) ~= client end)
end

-- Without a message, the holders would hand their permits to their next local waiters although there are too many holders.
local function end_batches_beyond(limit, holds)
  local used = holds.crowd and holds.crowd.units() or 0
  for _, hold in ipairs(holds) do used = used + (hold.units or 0) end
  if used > limit then end_batches(holds, function(hold) return hold.kind == PERMITS end) end
end
