-- Fencing tokens follow the server's clock and never fall below the last one. So they keep growing when the fence key
-- has expired or the data are gone, and the key need not live for ever.
local FENCE_MEMORY = 600000

local function last_token()
  local last = redis.call('GET', FENCE)
  if not last then return 0 end
  return tonumber(last) or error('WRONGTYPE the fence key holds something that is no fencing token')
end

local function next_token(lease)
  local token = math.max(last_token() + 1, now_micros)
  redis.call('SET', FENCE, integer(token), 'PX', integer(FENCE_MEMORY + lease))
  return token
end
