-- Acquires an RFairLock, or a place in its queue.
--
-- KEYS    1 lock, 2 unlock latch of the acquisition
-- ARGV    1 owner (`uuid:number`), 2 lease in ms, 3 '1' to wait, 4 '1' if it has waited before
-- Output  { 1, 0 }; { 0, ms until another request is of use, owner of the lock if there is one }; { 2 } if it was released before
--
-- As in acquire.lua, each acquisition is an owner of its own, with a count of 1.
--- @include "shared/clock"
--- @include "shared/fair-queue"

local LOCK, LATCH = KEYS[1], KEYS[2]
local owner, lease, waits, has_waited = ARGV[1], ARGV[2], ARGV[3] == '1', ARGV[4] == '1'
-- A waiter retries at least this often, in ms, to keep its place.
local PERIOD = 4000
local queue, times = queue_of(LOCK), times_of(LOCK)
local LOOKED = times .. ':looked'

local function hold()
  redis.call('HSET', LOCK, owner, 1)
  redis.call('PEXPIRE', LOCK, lease)
  return { 1, 0 }
end

-- A waiter in a queue must not become overdue while the lock is held: it could not take it. Redisson would drop it. So all
-- waiters get as much time as has passed since the last request of a waiter here, and a head here gets its whole WAIT.
local function keep_places(now)
  local place, looked, more = redis.call('ZSCORE', times, owner), redis.call('GET', LOOKED), 0
  if place and redis.call('LINDEX', queue, 0) == owner then
    more = now + WAIT - place
  elseif looked and redis.call('EXISTS', LOCK) == 1 then
    more = now - looked
  end
  if more ~= 0 then
    for _, waiter in ipairs(redis.call('ZRANGE', times, 0, -1)) do add_time(LOCK, waiter, more) end
  end
  redis.call('SET', LOOKED, string.format('%.0f', now), 'PX', WAIT)
end

local function join_queue(now)
  if redis.call('ZSCORE', times, owner) then return end
  if has_waited then
    -- It was overdue, as only the first of a queue can be. All others came after it.
    redis.call('LPUSH', queue, owner)
    redis.call('ZADD', times, string.format('%.0f', now + WAIT), owner)
    return
  end
  local last = redis.call('LINDEX', queue, -1)
  local due = last and redis.call('ZSCORE', times, last) or now
  if not same_client(owner, last) then due = due + WAIT end
  redis.call('RPUSH', queue, owner)
  redis.call('ZADD', times, string.format('%.0f', due), owner)
end

-- The command has arrived twice.
if redis.call('HEXISTS', LOCK, owner) == 1 then return hold() end
if redis.call('EXISTS', LATCH) == 1 then return { 2 } end
local now = clock()
if waits then keep_places(now) end
local head = head_of(LOCK)
local left, holder = redis.call('PTTL', LOCK), redis.call('HKEYS', LOCK)[1]
if not holder then
  if not head or head == owner then
    leave_queue(LOCK, owner)
    return hold()
  end
  left = (redis.call('ZSCORE', times, head) or now + PERIOD) - now
end
if waits then join_queue(now) end
return { 0, left < 0 and PERIOD or math.min(left, PERIOD), holder }
