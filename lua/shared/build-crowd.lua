-- Part of shared/crowd.lua. Makes the index in pieces, so that no script reads all holds of a large state.
--
-- The index has the holds of the pieces so far, and `sums` counts exactly these. Between two pieces other scripts add holds
-- and remove them. A hold that is added meanwhile is in the index at once, and a piece skips what the index has. So it does
-- not matter if HSCAN returns a hold twice. HSCAN returns each hold that exists from the first piece to the last one, unless
-- the pieces come from two servers (failover). Therefore the index is complete only if it has as many holds as the state.
-- Otherwise the next scripts look at all holds again.
--- @include "shared/keys"
--- @include "shared/clock"
--- @include "shared/hold"
--- @include "shared/layout"

-- A piece has about this many holds. An index of not more holds is made at once.
local HOLDS_PER_PIECE = 32

-- `place`: where to go on; nil: begins anew.
local function build(place)
  local next_place, fields, holds = '0', nil, {}
  if size <= HOLDS_PER_PIECE then
    fields, place = redis.call('HGETALL', STATE), nil
  else
    if not place then assert_layout(redis.call('HGET', STATE, 'layout')) end
    next_place, fields = unpack(redis.call('HSCAN', STATE, place or '0', 'COUNT', HOLDS_PER_PIECE))
  end
  -- Before the first write: a state of another layout is refused, and its index stays as it is.
  for i = 1, #fields, 2 do holds[#holds + 1] = read_hold(fields[i], fields[i + 1]) end
  -- Redis accepts the first write even if its memory is full, and then also the others.
  if place then
    redis.call('HDEL', AGGREGATES, 'next')
  else
    redis.call('UNLINK', ENDS, AGGREGATES)
    sums = { count = 0, units = 0, special = 0, read = 0, permits = 0, exclusive = 0, kept_until = 0 }
  end
  local numbers = {}
  local function note(field, change) numbers[field] = (numbers[field] or 0) + change end
  for _, hold in ipairs(holds) do
    if redis.call('ZADD', ENDS, 'NX', integer(hold.ends), hold.id) == 1 then
      count(sums, hold, 1)
      count_owner(hold, 1, note)
      if not is_plain(hold) then redis.call('HSET', AGGREGATES, 'hold:' .. hold.id, hold.mode .. ' ' .. hold.owner) end
    end
  end
  for field, number in pairs(numbers) do change_stored(field, number) end
  crowd.is_incomplete = next_place ~= '0' or sums.count ~= size
  if crowd.is_incomplete then redis.call('HSET', AGGREGATES, 'next', next_place) end
  -- In each piece, because a key that was empty has no TTL.
  sums.kept_until = 0
  keep_index_until(state_ends())
end
