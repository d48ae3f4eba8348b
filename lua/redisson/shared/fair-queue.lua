-- The waiters of an RFairLock: a list of owners in their order, and a sorted set: owner -> when it is overdue. An overdue
-- head loses its place to the next waiter, even if it lives.
--
-- A waiter is overdue some time after the one before it: `fairLockWaitTimeout` or the wait of `tryLock` in Redisson, and
-- WAIT here. When a waiter leaves the queue, those behind it are overdue so much earlier. So a change of one time has to
-- change all of them.
--- @include "shared/names"
--- @include "shared/clock"
--- @include "shared/publish"

-- Longer than a living waiter goes without a retry. For so long a dead head keeps the others from a free lock.
local WAIT = 10000

local function queue_of(lock) return 'redisson_lock_queue:' .. tagged(lock) end
local function times_of(lock) return 'redisson_lock_timeout:' .. tagged(lock) end

-- The waiters of one client that stand together die together: they share one WAIT.
local function same_client(owner, other)
  return other and string.match(owner, '^[^:]*') == string.match(other, '^[^:]*')
end

local function add_time(lock, owner, ms)
  redis.call('ZINCRBY', times_of(lock), string.format('%.0f', ms), owner)
end

-- The first waiter that is not overdue, or a false value.
local function head_of(lock)
  while true do
    local head = redis.call('LINDEX', queue_of(lock), 0)
    local due = head and redis.call('ZSCORE', times_of(lock), head)
    if not due or tonumber(due) > clock() then return head end
    redis.call('ZREM', times_of(lock), head)
    redis.call('LPOP', queue_of(lock))
  end
end

-- Removes a waiter from any place.
local function leave_queue(lock, owner)
  if not redis.call('ZSCORE', times_of(lock), owner) then return end
  local queue, at = redis.call('LRANGE', queue_of(lock), 0, -1), 1
  while queue[at] and queue[at] ~= owner do at = at + 1 end
  redis.call('ZREM', times_of(lock), owner)
  redis.call('LREM', queue_of(lock), 0, owner)
  if same_client(owner, queue[at - 1]) or same_client(owner, queue[at + 1]) then return end
  for i = at + 1, #queue do add_time(lock, queue[i], -WAIT) end
end

-- Tells the first waiter that the lock is free.
local function wake_head(lock, channel)
  if redis.call('EXISTS', lock) == 1 then return end
  local head = head_of(lock)
  if head then publish(channel .. ':' .. head, '0') end
end
