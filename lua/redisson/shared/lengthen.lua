-- Sets a TTL, unless it is longer already: a command that arrives twice must not shorten a lease. Returns the TTL in ms.
local function lengthen(key, ms)
  ms = math.max(redis.call('PTTL', key), ms)
  redis.call('PEXPIRE', key, ms)
  return ms
end
