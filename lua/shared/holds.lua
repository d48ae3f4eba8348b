-- Holds: each has a lease of its own.
--- @include "shared/keys"
--- @include "shared/hold"
--- @include "shared/clock"
--- @include "shared/client"
--- @include "shared/token"
--- @include "shared/modes"
--- @include "shared/retry-places"
--- @include "shared/crowd-size"

-- A reply names at most this many holds, and a script has at most this many holders end their batches.
--- @export
local MAX_HOLDERS = 4
-- One grant serves this many waiters of a client while no other client waits: enough for all of localHandoffTime.
--- @export
local UNCONTENDED_BATCH_SIZE = 1000

-- `holds`: if the end of the hold has changed.
local function write_hold(hold, holds)
  redis.call('HSET', STATE, hold.id, string.format('%s%s %.0f %.0f %.0f %s',
    hold.pushed and PUSHED or hold.alone and ALONE or '', hold.mode, hold.ends, hold.token, hold.since, hold.owner))
  if holds and holds.crowd then holds.crowd.write(hold) end
end

-- Returns the holds whose leases have not ended, and the expired ones. If there are many, the list is empty, and `crowd`
-- answers for it. `gone`: id of a hold that this script has removed before.
local function read_holds(gone)
  local holds, ended = {}, {}
  local size = redis.call('HLEN', STATE)
  if size == 0 then return holds, ended end
  if size > CROWD then
    --- @include "shared/crowd"
    local many, ended_of_many = open_crowd(size, gone)
    if many then return many, ended_of_many end
  elseif size == CROWD and gone then
    --- @include "shared/crowd-keys"
    redis.pcall('UNLINK', crowd_keys(STATE)) -- fewer than before; a server without the index may refuse its keys
  end
  local fields = redis.call('HGETALL', STATE)
  for i = 1, #fields, 2 do
    local hold = read_hold(fields[i], fields[i + 1])
    if hold.ends > now then holds[#holds + 1] = hold else ended[#ended + 1] = hold end
  end
  return holds, ended
end

-- Removes expired holds. Returns the clients that have not taken their pushed grants, each followed by a space. The client
-- of `asker` is left out.
local function drop_ended(ended, asker)
  local not_taken = ''
  if ended.crowd then ended.crowd.drop_ended() end
  for _, hold in ipairs(ended) do
    redis.call('HDEL', STATE, hold.id)
    local client = hold.pushed and client_of(hold.id)
    if client and not (asker and string.find(asker, client, 1, true)) then not_taken = not_taken .. client .. ' ' end
  end
  return not_taken
end

local function find_hold(holds, id)
  if holds.crowd then return holds.crowd.find(id) end
  for _, hold in ipairs(holds) do
    if hold.id == id then return hold end
  end
end

-- A retry may arrive this many ms late, and still notices a pushed grant that was not taken.
--- @export
local PUSHED_GRACE = 500

-- The state lives as long as the longest lease. After a pushed grant it lives until every waiter has retried: a waiter that
-- knows the end of the lease, and a waiter whose period is up to twice the lease.
-- `changed`: the hold that is new or has another end, if there is one.
local function set_state_ttl(holds, changed)
  local ends = 0
  for _, hold in ipairs(holds.crowd and { changed } or holds) do
    local unnoticed = hold.pushed
      and math.max(hold.ends - hold.since, RETRY_AFTER_EXPIRY + MAX_RETRY_PLACES * RETRY_PER_PLACE) + PUSHED_GRACE or 0
    ends = math.max(ends, hold.ends + unnoticed)
  end
  if holds.crowd then
    if changed then holds.crowd.keep_until(ends) end
  elseif ends > 0 then redis.call('PEXPIREAT', STATE, integer(ends)) end
end

local function add_hold(holds, hold)
  if holds.crowd then holds.crowd.add(hold) else holds[#holds + 1] = hold end
  write_hold(hold)
end

-- Writes a new hold with the next fencing token, and reserves one token for each waiter of its batch, and for each slot.
local function grant(holds, request, lease, batch_size, pushed)
  local mode, slots = request.mode, 1
  if request.slots or request.drains then
    --- @include "shared/granted-mode"
    mode, slots = granted_mode(request)
  end
  local token, reserved = next_token(lease, batch_size, slots)
  local hold = with_mode({ id = request.id, ends = now + lease, token = token, since = now, owner = request.owner,
    batch_size = reserved }, mode)
  hold.pushed, hold.alone = pushed, not pushed and hold.kind == PERMITS and batch_size >= UNCONTENDED_BATCH_SIZE
  add_hold(holds, hold)
  set_state_ttl(holds, hold)
  if request.kind == PERMITS then redis.call('PEXPIRE', LIMIT, LIMIT_RETENTION) end
  return hold
end
