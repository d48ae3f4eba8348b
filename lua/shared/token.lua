-- Fencing tokens follow the server's clock and never fall below the last one. So they keep growing when the fence key
-- has expired or the data are gone, and the key need not live for ever.
local FENCE_MEMORY = 600000

local function last_token()
  local last = redis.call('GET', FENCE)
  if not last then return 0 end
  return tonumber(last) or error('WRONGTYPE the fence key holds something that is no fencing token')
end

-- The first of so many tokens, none of which anybody else will get.
local function next_token(lease, count)
  local token = math.max(last_token() + 1, now_micros)
  redis.call('SET', FENCE, integer(token + count - 1), 'PX', FENCE_MEMORY + lease)
  return token
end
