-- Acquires several locks in one step, or none: only if all are free and no client waits for any of them. A command that
-- arrives twice or late has no further effect.
--
-- KEYS    for each lock: state, queue, waiters, fence, tombstones, limit, ends
-- ARGV    for each lock: request (shared/request.lua)
-- Output  for each lock: HELD, now, -1, token, ms of lease left, batch size, number of permits
--         { BUSY, position of a lock that holds keep from this request, ids of up to four holds ... }
--         an empty list if only a request for each lock can tell: another reason keeps the script from granting one of them
--
-- The script reads everything before it writes anything. If one lock has foreign data, nothing is left in another.
--- @include "shared/keys"
--- @include "shared/token"
--- @include "shared/holds"
--- @include "shared/admission"
--- @include "shared/grant"
--- @include "shared/request"
--- @include "shared/reply-codes"
--- @include "shared/records"

-- What follows refers to the lock at this position among the KEYS. Copied one by one: `unpack` takes fewer than 8,000.
local all_keys = {}
for i, key in ipairs(KEYS) do all_keys[i] = key end

-- The names of shared/keys.lua stand for the first seven keys.
local function use_lock(position)
  for role = 1, 7 do KEYS[role] = all_keys[7 * (position - 1) + role] end
end

local locks = {}
for position = 1, #all_keys / 7 do
  use_lock(position)
  local request = request_at((position - 1) * REQUEST_SIZE + 1)
  local holds = read_holds(request.id)
  local mine = find_hold(holds, request.id)
  last_token()
  if not mine then
    if has_record(TOMBSTONES, request.id) or upgrades(holds, request) or exceeds_limit(request) then return {} end
    if not reenters(holds, request) then
      if not admits(holds, request) then
        -- A request for this lock alone continues with the other holds.
        if holds.has_more then return {} end
        return { BUSY, position, unpack(some_holders(holds)) }
      end
      -- The tickets may be stale, or their clients gone. A request for this lock alone finds out.
      if redis.call('ZCARD', QUEUE) > 0 then return {} end
    end
  end
  locks[position] = { holds = holds, request = request, mine = mine }
end

local reply = {}
for position, lock in ipairs(locks) do
  use_lock(position)
  local hold = lock.mine or grant(lock.holds, lock.request, lock.request.lease, 1)
  local parts = held(hold)
  for i = 1, 7 do reply[#reply + 1] = parts[i] or 0 end
end
return reply
