-- Fencing tokens follow the server's clock and never fall below the last one. So they keep growing when the fence key
-- has expired or the data are gone, and the key need not live for ever.
local FENCE_MEMORY = 600000
-- A token that is ahead of this server's clock is remembered until the clock has passed it, and FENCE_MEMORY beyond that:
-- another master's clock may have made it. A day ahead at most, or a clock that is wrong by years would fill the memory.
local MOST_MS_AHEAD = 86400000

-- The last token of the lock in use, once it was read.
local known, known_of

local function last_token()
  if known_of == FENCE then return known end
  local last = redis.call('GET', FENCE)
  known = last and (tonumber(last) or error('WRONGTYPE the fence key holds something that is no fencing token')) or 0
  known_of = FENCE
  return known
end

local function remember_token(token, lease)
  local ahead = math.min(math.max(0, (token - now_micros) / 1000), MOST_MS_AHEAD)
  known, known_of = token, FENCE
  redis.call('SET', FENCE, integer(token), 'PX', integer(FENCE_MEMORY + lease + ahead))
end

-- So many tokens go with a grant at most while the last one is ahead of the clock: what is not used does not add up. The
-- same number stands in lib/store/memory/memory-server.ts.
local MOST_AHEAD = 50

-- The first of some tokens, none of which anybody else will get; and how many of those that were asked for they are.
local function next_token(lease, count)
  local token = math.max(last_token() + 1, now_micros)
  if token > now_micros then count = math.min(count, MOST_AHEAD) end
  remember_token(token + count - 1, lease)
  return token, count
end
