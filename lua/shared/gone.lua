-- Acquisitions that have left, or were ended by force, before all that they were asked for has come.
local function has_left(id)
  local remembered = redis.call('ZSCORE', GONE, id)
  return remembered and tonumber(remembered) > now
end

-- The name under which it is remembered that a hold was ended by force. Its acquisition may be granted again.
local function revoked(id)
  return 'revoked:' .. id
end

-- For so many ms.
local function remember_left(id, memory)
  redis.call('ZREMRANGEBYSCORE', GONE, '-inf', integer(now))
  redis.call('ZADD', GONE, integer(now + memory), id)
  redis.call('PEXPIRE', GONE, integer(math.max(redis.call('PTTL', GONE), memory)))
end
