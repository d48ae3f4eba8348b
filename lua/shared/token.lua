-- Fencing tokens follow the server's clock and never fall below the last one. Therefore they keep growing when the fence
-- key has expired or Redis has lost its data, and the key may expire.
--- @include "shared/keys"
--- @include "shared/clock"

-- The last fencing token of a key stays in Redis for this many ms after the lease.
local FENCE_RETENTION = 600000

-- If a token is ahead of this server's clock, the fence key lives until the clock has passed the token, and
-- FENCE_RETENTION longer: the clock of another master may have made the token. The limit is one day in ms. Without it, a
-- clock that is wrong by years would fill the memory.
local MAX_RETENTION_AHEAD = 86400000

-- The last token of the lock in use, once it was read.
local cached, cached_of

local function last_token()
  if cached_of == FENCE then return cached end
  local last = redis.call('GET', FENCE)
  cached = last and (tonumber(last) or error('WRONGTYPE the fence key holds something that is no fencing token')) or 0
  cached_of = FENCE
  return cached
end

local function remember_token(token, lease)
  local ahead = math.min(math.max(0, (token - now_micros) / 1000), MAX_RETENTION_AHEAD)
  cached, cached_of = token, FENCE
  redis.call('SET', FENCE, integer(token), 'PX', integer(FENCE_RETENTION + lease + ahead))
end

-- A grant reserves at most this many tokens while the last token is ahead of the clock, so unused tokens do not add up.
--- @export
local MAX_TOKENS_AHEAD = 50

-- Reserves tokens that no other grant gets. Returns the first one, and how many of the requested ones were reserved: at least
-- `least`.
local function next_token(lease, count, least)
  local token = math.max(last_token() + 1, now_micros)
  if token > now_micros then count = math.min(count, MAX_TOKENS_AHEAD) end
  count = math.max(count, least)
  remember_token(token + count - 1, lease)
  return token, count
end
