-- Answers the requests that need no look at the queue: the acquisition holds the lock already, or the holds admit it and no
-- client waits.
--- @include "shared/keys"
--- @include "shared/holds"
--- @include "shared/admission"
--- @include "shared/grant"
--- @include "shared/complete"
--- @include "shared/request"

-- Returns the reply; nil: the request needs more.
local function grant_at_once(holds, request)
  local mine = find_hold(holds, request.id)
  if mine then return complete(holds, mine, request) end
  if admits(holds, request) and redis.call('EXISTS', QUEUE, TOMBSTONES) == 0 then
    return held(grant(holds, request, request.lease, request.uncontended_batch_size))
  end
end
