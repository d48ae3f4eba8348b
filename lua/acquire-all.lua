-- Takes several locks in one step, or none of them: only if all are free and nobody waits for any.
--
-- KEYS  for each lock: state, queue, waiters, fence, gone, limit
-- ARGV  for each lock: request (see shared/request.lua)
-- Reply for each lock: HELD, now, token, lease left, turns; or nothing, when not all were free
--
-- May arrive twice or late. Everything is read before anything is written: a foreign key in the way of one lock leaves
-- nothing behind in another.
--- @include "shared/keys"
--- @include "shared/replies"
--- @include "shared/clock"
--- @include "shared/token"
--- @include "shared/modes"
--- @include "shared/holds"
--- @include "shared/request"

-- What follows is about the lock whose keys are the `place`-th six.
local function use_lock(place)
  STATE, QUEUE, WAITERS, FENCE, GONE, LIMIT = unpack(KEYS, 6 * place - 5, 6 * place)
end

local locks = {}
for place = 1, #KEYS / 6 do
  use_lock(place)
  local request = request_at((place - 1) * REQUEST_SIZE + 1)
  local holds, ended = read_holds()
  local mine = find_hold(holds, request.id)
  last_token()
  if not mine then
    local left = tonumber(redis.call('ZSCORE', GONE, request.id) or 0) > now
    local queued = redis.call('ZCARD', QUEUE) > 0
    if left or not (reenters(holds, request) or not queued and admits(holds, request)) then return {} end
  end
  locks[place] = { holds = holds, ended = ended, request = request, mine = mine }
end

local reply = {}
for place, lock in ipairs(locks) do
  use_lock(place)
  drop_ended(lock.ended)
  local hold = lock.mine or grant(lock.holds, lock.request, lock.request.lease, 1)
  for _, part in ipairs(held(hold)) do reply[#reply + 1] = part end
end
return reply
