-- Acquires an RLock or an RFencedLock.
--
-- KEYS    1 lock, 2 unlock latch of the acquisition, 3 token counter (RFencedLock only)
-- ARGV    1 owner (`uuid:number`), 2 lease in ms
-- Output  { 1, token } (token 0 without a counter); { 0, PTTL of the lock, its owner if there is one }; { 2 } if it was released before
--
-- Redisson adds 1 to the hold count of an owner. Here each acquisition is an owner of its own, so the count is always 1:
-- a command that arrives twice takes effect once.
--
-- Tokens follow the clock of Redis, as those of the own layout do. So they keep growing if a failover loses the latest counts.
-- INCR of Redisson continues from them.
--- @include "shared/clock"
--- @include "shared/lengthen"

local LOCK, LATCH, TOKEN = KEYS[1], KEYS[2], KEYS[3]
local owner, lease = ARGV[1], tonumber(ARGV[2])

local token = 0
if redis.call('EXISTS', LOCK) == 1 then
  if redis.call('HEXISTS', LOCK, owner) == 0 then
    -- An RLock has one owner. Another hash may have many, which the reply need not name.
    return { 0, redis.call('PTTL', LOCK), redis.call('HLEN', LOCK) == 1 and redis.call('HKEYS', LOCK)[1] }
  end
  -- The command has arrived twice. No other owner has taken a token since.
  if TOKEN then token = redis.call('GET', TOKEN) end
elseif redis.call('EXISTS', LATCH) == 1 then
  return { 2 }
elseif TOKEN then
  token = redis.call('INCR', TOKEN)
  local micros = clock() * 1000
  if token < micros then
    token = micros
    redis.call('SET', TOKEN, string.format('%.0f', token))
  end
end
redis.call('HSET', LOCK, owner, 1)
lengthen(LOCK, lease)
return { 1, token }
