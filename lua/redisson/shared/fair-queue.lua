-- The waiters of an RFairLock: a list of owners in their order, and a sorted set: owner -> when it is overdue. An overdue
-- head loses its place to the next waiter, even if it lives.
--
-- A waiter is overdue some time after the one before it: `fairLockWaitTimeout` or the wait of `tryLock` in Redisson, and
-- WAIT here. When a waiter leaves the queue, those behind it are overdue so much earlier. So a change of one time has to
-- change all of them.
--
-- Two sorted sets that Redisson does not have are about the waiters of this library: owner -> when it has last asked, and
-- owner -> its number in the order of arrival. A waiter that has lost its place keeps its number. KEPT stands beside the owners
-- in the first set: when all times were last changed.
--
-- Very many waiters may stand here, so no request reads or changes all of them each time.
--- @include "shared/names"
--- @include "shared/clock"
--- @include "shared/publish"

-- Longer than a living waiter goes without a retry. For so long a dead head keeps the others from a free lock.
local WAIT = 10000
-- A waiter retries at least this often, in ms, to keep its place.
local PERIOD = 4000
-- A waiter that has not asked for so many ms, and is not subscribed, is dead or has no connection.
local SILENCE = 4500
local KEPT = 'kept'

local function queue_of(lock) return 'redisson_lock_queue:' .. tagged(lock) end
local function times_of(lock) return 'redisson_lock_timeout:' .. tagged(lock) end
local function asked_of(lock) return times_of(lock) .. ':asked' end
local function numbers_of(lock) return times_of(lock) .. ':numbers' end
local function channel_of(lock, owner) return 'redisson_lock__channel:' .. tagged(lock) .. ':' .. owner end

-- The waiters of one client that stand together die together: they share one WAIT.
local function same_client(owner, other)
  return other and string.match(owner, '^[^:]*') == string.match(other, '^[^:]*')
end

local function add_time(lock, owner, ms)
  redis.call('ZINCRBY', times_of(lock), string.format('%.0f', ms), owner)
end

-- Removes a waiter from any place.
local function remove_waiter(lock, owner)
  if redis.call('ZREM', times_of(lock), owner) == 0 then return end
  local queue = queue_of(lock)
  local at = redis.call('LPOS', queue, owner)
  if not at then return end
  local previous = at > 0 and redis.call('LINDEX', queue, at - 1)
  redis.call('LREM', queue, 0, owner)
  if same_client(owner, previous) or same_client(owner, redis.call('LINDEX', queue, at)) then return end
  for _, waiter in ipairs(redis.call('LRANGE', queue, at, -1)) do add_time(lock, waiter, -WAIT) end
end

-- Removes a waiter for good: it does not return to its place.
local function leave_queue(lock, owner)
  local asked = asked_of(lock)
  redis.call('ZREM', asked, owner)
  if redis.call('ZCARD', asked) == 1 and redis.call('ZSCORE', asked, KEPT) then redis.call('DEL', asked) end
  redis.call('ZREM', numbers_of(lock), owner)
  remove_waiter(lock, owner)
end

-- When a waiter of this library counts as dead unless it asks before; `nil`: it is subscribed, or a waiter of Redisson.
local function dies_at(lock, owner)
  if not redis.call('ZSCORE', numbers_of(lock), owner) or not is_deserted(channel_of(lock, owner)) then return nil end
  return (tonumber(redis.call('ZSCORE', asked_of(lock), owner)) or 0) + SILENCE
end

-- The first waiter that is neither overdue nor dead, or a false value; and when it counts as dead unless it asks before.
local function head_of(lock)
  while true do
    local head = redis.call('LINDEX', queue_of(lock), 0)
    local due = head and redis.call('ZSCORE', times_of(lock), head)
    if not due then return head end
    local now, dies = clock(), dies_at(lock, head)
    if tonumber(due) <= now then
      redis.call('ZREM', times_of(lock), head)
      redis.call('LPOP', queue_of(lock))
    elseif dies and dies <= now then
      remove_waiter(lock, head)
    else
      return head, dies
    end
  end
end

local function wake(lock, owner)
  publish(channel_of(lock, owner), '0')
end

-- Tells the first waiter that the lock is free.
local function wake_head(lock)
  if redis.call('EXISTS', lock) == 1 then return end
  local head = head_of(lock)
  if head then wake(lock, head) end
end
