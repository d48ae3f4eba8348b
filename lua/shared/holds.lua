-- Finds, adds and removes holds. The state keeps them in one of two forms.
--
--   single  one hold, as most locks have: id -> hold (shared/hold.lua). Acquire and release have short paths for it.
--   many    from the second hold until the last hold is gone:
--             '+' .. id -> hold
--             '#sums' -> 'holds units exclusive read named marked', over all holds of the state: how many there are, their
--               permits, the exclusive holds, the readers, the holds with a named owner, and the marks in ENDS
--             '#owner:' .. kind .. ':' .. owner -> number of holds that count for this owner
--           A hold counts for an owner that is not its own id, until it is released and only kept.
--
-- In the many form, no script reads all holds. A hold and the sums are written in one HSET, so they cannot part. ENDS leads
-- to the holds that may have expired. So the time of a script does not grow with the number of holds.
--- @include "shared/keys"
--- @include "shared/clock"
--- @include "shared/hold"
--- @include "shared/retry-time"
--- @include "shared/ends"
--- @include "shared/parked"

-- A reply names at most this many holds, and a script has at most this many unmarked holders end their batches.
--- @export
local MAX_HOLDERS = 4
-- A retry may arrive this many ms late, and still notices a pushed grant that was not taken.
local PUSHED_GRACE = 500

local function counts_for_owner(hold)
  return hold.owner ~= hold.id and hold.status ~= STATUS_KEPT
end

local function count_hold(sums, hold, change)
  sums.holds = sums.holds + change
  sums.units = sums.units + change * (hold.units or 0)
  sums[hold.kind] = sums[hold.kind] + change
  if counts_for_owner(hold) then sums.named = sums.named + change end
end

-- Writes the sums, and the given fields in the same step.
local function write_sums(sums, ...)
  redis.call('HSET', STATE, '#sums', string.format('%d %d %d %d %d %d', sums.holds, sums.units, sums.exclusive, sums.read,
    sums.named, sums.marked), ...)
end

local function owner_field(kind, owner)
  return '#owner:' .. kind .. ':' .. owner
end

-- Counts a hold for its owner. Returns the field and the number that are to be written with the sums; nothing if there is
-- nothing to write.
local function count_owner(hold, change)
  if not counts_for_owner(hold) then return end
  local field = owner_field(hold.kind, hold.owner)
  local number = (tonumber(redis.call('HGET', STATE, field)) or 0) + change
  if number > 0 then return field, number end
  redis.call('HDEL', STATE, field)
end

-- Raises the error for a state in neither form.
local function refuse()
  local _, fields = unpack(redis.call('HSCAN', STATE, '0', 'COUNT', 1))
  read_hold(fields[1], fields[2])
  error('WRONGTYPE the state key holds something that is no lock')
end

-- Leaves a hold out of what the script knows, until `drop_expired` removes it from the state.
local function leave_out(holds, hold)
  holds.expired[#holds.expired + 1] = hold
  holds.only, holds.known[hold.id] = nil, false
  count_hold(holds.sums, hold, -1)
end

-- Finds the holds whose leases have ended, or some of them.
local function find_expired(holds)
  if not holds.is_many then return end
  local sums = holds.sums
  if redis.call('ZCARD', ENDS) < sums.holds + sums.marked then
    holds.has_more = restore_ends(sums)
    write_sums(sums)
  end
  local over, looked = read_over()
  for _, hold in ipairs(over) do
    if holds.known[hold.id] ~= false then leave_out(holds, hold) end
  end
  holds.has_more = holds.has_more or looked == ENDS_PER_READ
end

-- Reads the sums, and the hold `id`. Returns what the script knows of the holds:
--   sums      over the holds whose leases have not ended, as far as the script has looked; of permits also their number
--   only      the hold, in the single form
--   is_many   whether the state has the many form
--   expired   holds whose leases have ended, and that are still in the state
--   has_more  whether further leases may have ended. The sums may contain them then, so they only ever refuse too much.
local function read_sums(id)
  local sums = { holds = 0, units = 0, exclusive = 0, read = 0, permits = 0, named = 0, marked = 0 }
  local holds = { sums = sums, expired = {}, known = {} }
  local size = redis.call('HLEN', STATE)
  if size == 1 then
    local field, text = unpack(redis.call('HGETALL', STATE))
    if field == '#sums' then
      -- The Redis user was not allowed to count the holds that have left.
      redis.call('UNLINK', STATE, ENDS)
      return holds
    end
    local hold = read_hold(field, text)
    count_hold(sums, hold, 1)
    if hold.ends > now then holds.only = hold else leave_out(holds, hold) end
  elseif size > 1 then
    local text, layout, own = unpack(redis.call('HMGET', STATE, '#sums', 'layout', '+' .. id))
    assert_layout(layout)
    if not text then refuse() end
    local number, units, exclusive, read, named, marked = string.match(text, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+)$')
    sums.holds, sums.units, sums.exclusive, sums.read = tonumber(number), tonumber(units), tonumber(exclusive), tonumber(read)
    sums.named, sums.marked, sums.permits = tonumber(named), tonumber(marked), number - exclusive - read
    holds.is_many, holds.known[id] = true, own and read_hold(id, own)
    if own and holds.known[id].ends <= now then leave_out(holds, holds.known[id]) end
  end
  return holds
end

-- Reads the sums and the hold `id`, if it is given, and finds expired holds.
local function read_holds(id)
  local holds = read_sums(id or '')
  find_expired(holds)
  return holds
end

-- Returns a hold whose lease has not ended, or nil; and the hold if its lease has ended.
local function find_hold(holds, id)
  if holds.only then return holds.only.id == id and holds.only or nil end
  if not holds.is_many then return end
  if holds.known[id] == nil then
    local text = redis.call('HGET', STATE, '+' .. id)
    local hold = text and read_hold(id, text)
    holds.known[id] = hold
    if hold and hold.ends <= now then leave_out(holds, hold) end
  end
  if holds.known[id] then return holds.known[id] end
  for _, hold in ipairs(holds.expired) do
    if hold.id == id then return nil, hold end
  end
end

-- Whether an owner has a hold of a kind, as far as the script can know.
local function owns(holds, owner, kind)
  if holds.sums[kind] == 0 then return false end
  if holds.only then return holds.only.owner == owner and holds.only.status ~= STATUS_KEPT end
  local own = find_hold(holds, owner)
  if own and own.owner == owner and own.kind == kind and own.status ~= STATUS_KEPT then return true end
  -- While more leases may have ended, the number may include them. The reply leads to a script that knows.
  if holds.sums.named == 0 or holds.has_more then return false end
  local number = tonumber(redis.call('HGET', STATE, owner_field(kind, owner))) or 0
  for _, hold in ipairs(holds.expired) do
    if hold.kind == kind and hold.owner == owner and counts_for_owner(hold) then number = number - 1 end
  end
  return number > 0
end

-- Removes a hold from the state and from ENDS. Leaves the sums to the caller, and returns what is to be written with them.
local function take_out(holds, hold)
  holds.known[hold.id] = false
  if not holds.is_many then
    holds.only = nil
    redis.call('HDEL', STATE, hold.id)
    return
  end
  redis.call('HDEL', STATE, '+' .. hold.id)
  if redis.call('ZREM', ENDS, hold.id, '!' .. hold.id) == 2 then holds.sums.marked = holds.sums.marked - 1 end
  return count_owner(hold, -1)
end

-- Writes the sums after holds have left the state, and the given fields in the same step.
local function save_sums(holds, ...)
  if not holds.is_many then return end
  if holds.sums.holds > 0 then return write_sums(holds.sums, ...) end
  redis.call('UNLINK', STATE, ENDS)
  holds.is_many = false
end

-- Removes the expired holds from the state. The sums in Redis have them until then, so this comes before any other change.
local function drop_expired(holds)
  local expired = holds.expired
  if #expired == 0 then return end
  for _, hold in ipairs(expired) do
    local field, number = take_out(holds, hold)
    if field then redis.call('HSET', STATE, field, number) end
  end
  holds.expired = {}
  save_sums(holds)
  for _, hold in ipairs(expired) do
    if hold.status == STATUS_PUSHED then count_as_absent(hold.id) end
  end
end

-- Lets the state live as long as the lease of a hold that is new or has another end. After a pushed grant it lives until
-- every waiter has retried: a waiter that knows the end of the lease, and a waiter whose period is up to twice the lease.
local function keep_state_for(holds, hold)
  local ends = hold.ends
  if hold.status == STATUS_PUSHED then
    ends = ends + math.max(ends - hold.since, RETRY_AFTER_EXPIRY + MAX_RETRY_PLACES * RETRY_PER_PLACE) + PUSHED_GRACE
  end
  if holds.sums.holds > 1 then ends = math.max(ends, now + redis.call('PTTL', STATE)) end
  redis.call('PEXPIREAT', STATE, integer(ends))
  if holds.is_many then redis.call('PEXPIREAT', ENDS, integer(ends + ENDS_RETENTION)) end
end

-- Redis accepts the first write even if its memory is full, and then also others.
local function remove_hold(holds, hold)
  drop_expired(holds)
  count_hold(holds.sums, hold, -1)
  save_sums(holds, take_out(holds, hold))
  if holds.sums.holds == 1 and holds.is_many then
    -- The TTL may be that of a hold that is gone.
    local last = read_latest(1)[1]
    if last then keep_state_for(holds, last) end
  end
end

-- Adds a hold of the many form to ENDS.
local function note_end(holds, hold)
  holds.known[hold.id] = hold
  redis.call('ZADD', ENDS, integer(hold.ends), hold.id)
  if hold.status == STATUS_ALONE then
    redis.call('ZADD', ENDS, -1, '!' .. hold.id)
    holds.sums.marked = holds.sums.marked + 1
  end
end

-- Gives the state the many form.
local function become_many(holds)
  redis.call('UNLINK', ENDS) -- it may be left from a state that has expired
  holds.is_many = true
  local first = holds.only
  if not first then return end
  holds.only = nil
  -- The new fields come first: a state that was empty for a moment would lose its TTL. With the sums, it can be read even if
  -- the Redis user may not send the commands that follow.
  write_sums(holds.sums, '+' .. first.id, text_of(first), count_owner(first, 1))
  redis.call('HDEL', STATE, first.id)
  note_end(holds, first)
end

-- Writes a new hold.
local function add_hold(holds, hold)
  local old = find_hold(holds, hold.id)
  if old then remove_hold(holds, old) else drop_expired(holds) end
  if holds.sums.holds == 0 then
    holds.only = hold
    count_hold(holds.sums, hold, 1)
    redis.call('HSET', STATE, hold.id, text_of(hold))
  else
    if not holds.is_many then become_many(holds) end
    count_hold(holds.sums, hold, 1)
    note_end(holds, hold)
    write_sums(holds.sums, '+' .. hold.id, text_of(hold), count_owner(hold, 1))
  end
  keep_state_for(holds, hold)
end

-- Writes a hold again whose status, token or end has changed. The end is not earlier than before.
local function write_hold(holds, hold)
  redis.call('HSET', STATE, holds.is_many and '+' .. hold.id or hold.id, text_of(hold))
end

-- The ids of some holds, for a reply to a request that is not granted.
local function some_holders(holds)
  local ids = {}
  for _, hold in ipairs(holds.only and { holds.only } or holds.is_many and read_first(MAX_HOLDERS) or {}) do
    if hold.status ~= STATUS_KEPT then ids[#ids + 1] = hold.id end
  end
  return ids
end
