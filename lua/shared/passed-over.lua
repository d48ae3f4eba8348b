-- A client that has let a grant expire is passed over: its tickets are parked until it retries. The field 'passed' of the
-- waiters names these clients. It has this many characters at most, enough for the last hundred clients.
--- @include "shared/keys"

local PASSED_LENGTH = 4000

local function pass_over(clients)
  local passed = (redis.call('HGET', WAITERS, 'passed') or '') .. clients
  redis.call('HSET', WAITERS, 'passed', string.sub(passed, -PASSED_LENGTH))
end

local function no_longer_passed_over(passed, client)
  passed = string.gsub(passed, client .. ' ', '')
  if passed == '' then redis.call('HDEL', WAITERS, 'passed') else redis.call('HSET', WAITERS, 'passed', passed) end
end
