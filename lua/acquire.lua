-- Takes the lock, or a place in its queue.
--
-- KEYS  state, queue, waiters, fence, gone, limit
-- ARGV  1 channel prefix, 2 key, 3 place to go on from (0 at first), 4… request (see shared/request.lua),
--       12 ms since it came, for its place in the queue (left out: at the end)
-- Reply see shared/ask.lua
--
-- May arrive twice or late: its effect is that of arriving once.
local CHANNELS, KEY = ARGV[1], ARGV[2]
--- @include "shared/keys"
--- @include "shared/replies"
--- @include "shared/clock"
--- @include "shared/token"
--- @include "shared/modes"
--- @include "shared/holds"
--- @include "shared/request"

-- The common case first, before the rest of the script is even looked at: nobody has it, and nobody waits.
local request = request_at(4)
request.age = tonumber(ARGV[12])
if redis.call('EXISTS', STATE, QUEUE, GONE) == 0 and admits({}, request) then
  return held(grant({}, request, request.lease))
end

--- @include "shared/messages"
--- @include "shared/queue"
--- @include "shared/settle"
--- @include "shared/ask"

return ask(request, tonumber(ARGV[3]))
