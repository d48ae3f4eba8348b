-- Ends all holds of a lock, whoever has them, and tells those who had them.
--
-- KEYS  state, queue, waiters, fence, gone, limit
-- ARGV  1 address
-- Reply holds ended, clients of theirs that were there to be told, place to go on from or -1
--- @include "shared/keys"
--- @include "shared/clock"
--- @include "shared/token"
--- @include "shared/modes"
--- @include "shared/holds"
--- @include "shared/messages"
--- @include "shared/queue"
--- @include "shared/settle"
--- @include "shared/gone"

-- For so many ms at least no vote of a hold is taken again here (see reinstate.lua): its client hears of that within one
-- renewal.
local REVOKED_MEMORY = 60000

local holds, ended = read_holds()
if #holds + #ended > 0 then redis.call('DEL', STATE) end
local told = 0
for _, hold in ipairs(holds) do
  if hears_of_end(hold.id) then told = told + 1 end
  remember_left(hold.id, math.max(hold.ends - now, REVOKED_MEMORY))
  tell_revoked(hold)
end
local more = settle({}, {}, nil, 0)
return { #holds, told, more or -1 }
