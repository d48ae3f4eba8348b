-- The holds of a key that has many: readers, or permits. A script reads an index instead of all holds, so its time does
-- not grow with their number. The first script that finds more than CROWD holds begins the index (shared/build-crowd.lua).
-- A script that finds fewer deletes it.
--
--   ends   sorted set: hold id -> end of the lease. A renewal may leave an earlier end, so a script that finds a lease
--          over looks at the hold.
--   crowd  hash: 'sums' -> see SUMS; 'hold:' .. id -> 'mode owner' of each hold that is not plain;
--          'all:', 'read:' and 'exclusive:' .. owner -> number of holds that have the owner of another hold;
--          'next' -> while the index is incomplete: where the next script continues
--
-- A plain hold is one reader or one permit that is its own owner.
--
-- While the index is incomplete, no request is granted, and no hold counts as expired. The reply says that there is more
-- to look at, so the client repeats its request until a script knows all holds.
--- @include "shared/keys"
--- @include "shared/clock"
--- @include "shared/token"
--- @include "shared/modes"
--- @include "shared/hold"
--- @include "shared/crowd-size"
--- @include "shared/crowd-keys"

-- A script looks at this many leases that seem to be over. Its reply says where to go on.
local ENDED_PER_READ = 32

-- `size`: number of holds in the state, `gone`: id of a hold that this script has removed from it before. Returns the
-- holds, of which the list is empty, and the expired ones.
local function open_crowd(size, gone)
  local ENDS, AGGREGATES = crowd_keys(STATE)
  local stored = redis.pcall('HMGET', AGGREGATES, 'sums', 'next')
  -- A server that permits declared keys only refuses the index. There the scripts read all holds.
  if stored.err then return end
  local crowd, ended, seen = {}, {}, {}
  -- The expired holds that are still in the state: the stored sums include them, those of the script do not.
  local expired = { count = 0, units = 0, special = 0, read = 0, permits = 0, exclusive = 0 }
  local expired_of = {} -- the same for the numbers of owners
  local sums

  local function save()
    local function sum(name) return sums[name] + expired[name] end
    redis.call('HSET', AGGREGATES, 'sums', string.format('%.0f %.0f %.0f %.0f %.0f %.0f %.0f %.0f', last_token(),
      sum('count'), sum('units'), sum('special'), sum('read'), sum('permits'), sum('exclusive'), sums.kept_until))
  end

  local function is_plain(hold)
    return hold.owner == hold.id and not hold.kept and (hold.kind == READ or hold.kind == PERMITS and hold.units == 1)
  end

  local function count(of, hold, change)
    of.count, of.units, of[hold.kind] = of.count + change, of.units + change * (hold.units or 0), of[hold.kind] + change
    if not is_plain(hold) then of.special = of.special + change end
  end

  -- Counts a hold for its owner. `change_count` changes the number in a field.
  local function count_owner(hold, change, change_count)
    if hold.owner == hold.id then return end
    change_count('all:' .. hold.owner, change)
    if not hold.kept then change_count(hold.kind .. ':' .. hold.owner, change) end
  end

  local function change_stored(field, change)
    local number = (tonumber(redis.call('HGET', AGGREGATES, field)) or 0) + change
    if number > 0 then redis.call('HSET', AGGREGATES, field, number) else redis.call('HDEL', AGGREGATES, field) end
  end

  local function keep_index_until(ends)
    if ends <= sums.kept_until then return end
    sums.kept_until = math.ceil(ends + (ends - now) / 4)
    save()
    redis.call('PEXPIREAT', ENDS, integer(sums.kept_until))
    redis.call('PEXPIREAT', AGGREGATES, integer(sums.kept_until))
  end

  local function state_ends()
    return now + math.max(0, redis.call('PTTL', STATE))
  end

  --- @include "shared/build-crowd"

  -- Removes a hold from the index. `hold`: without the rest of its text if it is plain.
  local function leave_out(hold, from)
    count(from, hold, -1)
    seen[hold.id] = false
    redis.call('ZREM', ENDS, hold.id)
    if not is_plain(hold) then redis.call('HDEL', AGGREGATES, 'hold:' .. hold.id) end
    count_owner(hold, -1, change_stored)
  end

  local function static_of(id)
    local text = sums.special > 0 and redis.call('HGET', AGGREGATES, 'hold:' .. id)
    if not text then
      return { id = id, owner = id, kept = false, kind = sums.permits > 0 and PERMITS or READ, units = sums.permits > 0 and 1 or nil }
    end
    local mode, owner = string.match(text, '^(%S+) (.+)$')
    return with_mode({ id = id, owner = owner }, mode)
  end

  -- `place`: of an incomplete index.
  local function is_indexed(id, place)
    return not place or redis.call('ZSCORE', ENDS, id) ~= false
  end

  local function load()
    local text, place = unpack(stored)
    local found = text and { string.match(text, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+)$') } or {}
    for i = 1, #found do found[i] = tonumber(found[i]) end
    local token, number, indexed = last_token(), size + (gone and 1 or 0), redis.call('ZCARD', ENDS)
    -- A token that the index does not know belongs to a hold from when there were fewer.
    if token ~= 0 and token ~= found[1] or found[2] ~= indexed or indexed > number or not place and indexed < number then
      return build()
    end
    sums = { count = found[2], units = found[3], special = found[4], read = found[5], permits = found[6],
      exclusive = found[7], kept_until = found[8] }
    if gone and is_indexed(gone, place) then
      leave_out(static_of(gone), sums)
      save()
    end
    if place then build(place) end
  end

  local function find_stored(id)
    local text = redis.call('HGET', STATE, id)
    return text and read_hold(id, text)
  end

  function crowd.find(id)
    if seen[id] == nil then
      local hold = find_stored(id)
      seen[id] = hold and hold.ends > now and hold or false
    end
    return seen[id] or nil
  end

  local function number_of(kind, owner)
    if sums.special == 0 then return 0 end
    local field = kind .. ':' .. owner
    return (tonumber(redis.call('HGET', AGGREGATES, field)) or 0) - (expired_of[field] or 0)
  end

  -- The hold whose id is this owner.
  local function self_owned(owner)
    local hold = crowd.find(owner)
    return hold and hold.owner == owner and hold
  end

  function crowd.owns(owner, kind)
    if crowd.is_incomplete or sums[kind] == 0 then return false end
    -- While more leases may be over than this script has looked at, the number may include them. The answer is no then,
    -- and the reply leads to a script that knows.
    if number_of(kind, owner) > 0 then return not crowd.has_more end
    local hold = self_owned(owner)
    return hold and hold.kind == kind and not hold.kept
  end

  -- Whether the owner of a hold has another one. The index has to be complete.
  function crowd.shares_owner(hold)
    if hold.owner == hold.id then return number_of('all', hold.owner) > 0 end
    return number_of('all', hold.owner) > 1 or self_owned(hold.owner) and true or false
  end

  -- Whether it is known that all holds are of this kind.
  function crowd.has_only(kind)
    return not crowd.is_incomplete and sums[kind] == sums.count
  end

  -- Whether there may be a hold of this kind.
  function crowd.has(kind)
    return crowd.is_incomplete or sums[kind] > 0
  end

  function crowd.units()
    return sums.units
  end

  -- The first end of a lease, or the last one; nil: not known.
  function crowd.end_of_lease(last)
    if crowd.is_incomplete then return end
    local found = last and redis.call('ZREVRANGE', ENDS, 0, 0, 'WITHSCORES')
      or redis.call('ZRANGE', ENDS, '(' .. integer(now), '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
    return math.max(now, tonumber(found[2] or now))
  end

  local function found(ids)
    local holds = {}
    for _, id in ipairs(ids) do holds[#holds + 1] = crowd.find(id) end
    return holds
  end

  -- Some of the holds.
  function crowd.some(number)
    return found(redis.call('ZRANGE', ENDS, '(' .. integer(now), '+inf', 'BYSCORE', 'LIMIT', 0, number))
  end

  -- The holds that end last, mostly the latest grants.
  function crowd.latest(number)
    return found(redis.call('ZREVRANGE', ENDS, 0, number - 1))
  end

  -- The state keeps a TTL that is longer than needed until there are few holds.
  function crowd.keep_until(ends)
    ends = math.max(ends, state_ends())
    redis.call('PEXPIREAT', STATE, integer(ends))
    keep_index_until(ends)
  end

  -- The end of a hold has changed.
  function crowd.write(hold)
    redis.call('ZADD', ENDS, 'XX', integer(hold.ends), hold.id)
  end

  function crowd.add(hold)
    -- An expired hold with this id, which an incomplete index may contain.
    if crowd.is_incomplete and is_indexed(hold.id, true) then leave_out(static_of(hold.id), sums) end
    for i, over in ipairs(ended) do
      if over.id == hold.id and not over.is_dropped then -- the new hold takes the place of the expired one
        leave_out(table.remove(ended, i), expired)
        break
      end
    end
    seen[hold.id] = hold
    count(sums, hold, 1)
    redis.call('ZADD', ENDS, integer(hold.ends), hold.id)
    -- An incomplete index may have been empty, and an empty key loses its TTL.
    if crowd.is_incomplete then redis.call('PEXPIREAT', ENDS, integer(sums.kept_until)) end
    if not is_plain(hold) then redis.call('HSET', AGGREGATES, 'hold:' .. hold.id, hold.mode .. ' ' .. hold.owner) end
    count_owner(hold, 1, change_stored)
    save()
  end

  -- Before the hold leaves the state, or changes its id, its owner or its mode.
  function crowd.remove(hold)
    if is_indexed(hold.id, crowd.is_incomplete) then leave_out(hold, sums) end
    save()
  end

  -- After several holds have left the state.
  function crowd.close_if_few()
    if redis.call('HLEN', STATE) <= CROWD then redis.call('UNLINK', ENDS, AGGREGATES) end
  end

  -- Before expired holds leave the state.
  function crowd.drop_ended()
    if #ended == 0 then return end
    for _, hold in ipairs(ended) do
      leave_out(hold, expired)
      hold.is_dropped = true
    end
    expired_of = {}
    save()
  end

  crowd.save = save

  -- Returns the holds of the leases that seem to be over; nothing if the state has no such hold.
  local function read_over()
    local over = {}
    for _, id in ipairs(redis.call('ZRANGE', ENDS, '-inf', integer(now), 'BYSCORE', 'LIMIT', 0, ENDED_PER_READ)) do
      local hold = find_stored(id)
      if not hold then return end
      over[#over + 1] = hold
    end
    return over
  end

  load()
  local over = not crowd.is_incomplete and read_over()
  if over == nil then
    build()
    over = not crowd.is_incomplete and read_over()
  end
  if not over then
    -- Whether the reply has to say that there is more to look at.
    crowd.has_more = true
    return { crowd = crowd }, ended
  end
  crowd.has_more = #over == ENDED_PER_READ
  for _, hold in ipairs(over) do
    if hold.ends > now then
      redis.pcall('ZADD', ENDS, integer(hold.ends), hold.id) -- does not matter if Redis refuses it
    else
      ended[#ended + 1] = hold
      count(sums, hold, -1)
      count(expired, hold, 1)
      count_owner(hold, 1, function(field) expired_of[field] = (expired_of[field] or 0) + 1 end)
    end
  end
  if sums.count <= CROWD then
    redis.call('UNLINK', ENDS, AGGREGATES)
    return
  end
  ended.crowd = crowd
  return { crowd = crowd }, ended
end
