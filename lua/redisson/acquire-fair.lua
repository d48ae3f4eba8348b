-- Acquires an RFairLock, or a place in its queue.
--
-- KEYS    1 lock, 2 unlock latch of the acquisition
-- ARGV    1 owner (`uuid:number`), 2 lease in ms, 3 '1' to wait, 4 '1' if it has waited before, 5 how to publish
-- Output  { 1, 0 }; { 0, ms until another request is of use, owner of the lock if there is one }; { 2 } if it was released before
--
-- As in acquire.lua, each acquisition is an owner of its own, with a count of 1.
--- @include "shared/clock"
--- @include "shared/fair-queue"
--- @include "shared/lengthen"

local LOCK, LATCH = KEYS[1], KEYS[2]
local owner, lease, waits, has_waited = ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1', ARGV[4] == '1'
-- ms for which the numbers of waiters are kept after the last request of a waiter here, and after its arrival.
local MEMORY, LONGEST_MEMORY = 600000, 3600000
-- Times of waiters change by so many ms at least.
local STEP = 1000
local queue, times, asked, numbers = queue_of(LOCK), times_of(LOCK), asked_of(LOCK), numbers_of(LOCK)

local function hold()
  redis.call('HSET', LOCK, owner, 1)
  lengthen(LOCK, lease)
  return { 1, 0 }
end

-- A waiter in a queue must not become overdue while the lock is held: it could not take it. Redisson would drop it. So all
-- waiters get as much time as has passed while the lock is held, and a head here gets its whole WAIT. There may be very many
-- waiters, and each of them sends requests, so small differences wait for a later request.
local function keep_places(now)
  local place, more = redis.call('ZSCORE', times, owner), 0
  local is_free = redis.call('EXISTS', LOCK) == 0
  if place and redis.call('LINDEX', queue, 0) == owner then
    more = now + WAIT - place
  elseif not is_free then
    more = now - (redis.call('ZSCORE', asked, KEPT) or now)
  end
  local changes = math.abs(more) >= STEP
  if changes then
    for _, waiter in ipairs(redis.call('ZRANGE', times, 0, -1)) do add_time(LOCK, waiter, more) end
  end
  local time = string.format('%.0f', now)
  -- Without NX, the time since the latest change would be lost.
  redis.call('ZADD', asked, (changes or is_free) and 'CH' or 'NX', time, KEPT)
  redis.call('ZADD', asked, time, owner)
  redis.call('PEXPIRE', asked, WAIT)
  redis.call('PEXPIRE', numbers, MEMORY)
end

-- Restores the place of a waiter that was overdue or seemed dead. Only the first of a queue loses its place. So the waiter
-- belongs behind the waiters that have returned and came before it, and before all others.
local function return_to_queue(now, number)
  local at, previous, next = 0, nil, nil
  repeat
    at, previous, next = at + 1, next, redis.call('LINDEX', queue, at)
    local other = next and redis.call('ZSCORE', numbers, next)
  until not (number and other and tonumber(other) < tonumber(number))
  if next then
    redis.call('LINSERT', queue, 'BEFORE', next, owner)
  else
    redis.call('RPUSH', queue, owner)
  end
  local due = previous and tonumber(redis.call('ZSCORE', times, previous)) or now
  if not same_client(owner, previous) then due = due + WAIT end
  redis.call('ZADD', times, string.format('%.0f', math.max(due, now + WAIT)), owner)
  if same_client(owner, previous) or same_client(owner, next) then return end
  -- Waiters of one client that the new one separates do not share a WAIT any more.
  local more = previous and same_client(previous, next) and 2 * WAIT or WAIT
  for _, waiter in ipairs(redis.call('LRANGE', queue, at, -1)) do add_time(LOCK, waiter, more) end
end

local function join_queue(now)
  if redis.call('ZSCORE', times, owner) then return end
  local number = redis.call('ZSCORE', numbers, owner)
  if number or has_waited then return return_to_queue(now, number) end
  local last = redis.call('LINDEX', queue, -1)
  local due = last and redis.call('ZSCORE', times, last) or now
  if not same_client(owner, last) then due = due + WAIT end
  redis.call('RPUSH', queue, owner)
  redis.call('ZADD', times, string.format('%.0f', due), owner)
  -- Dead waiters leave theirs behind.
  redis.call('ZREMRANGEBYSCORE', asked, 0, now - WAIT)
  redis.call('ZREMRANGEBYSCORE', numbers, 0, now - LONGEST_MEMORY)
  -- Times since 1970 that differ, in the order of arrival.
  local latest = redis.call('ZRANGE', numbers, -1, -1, 'WITHSCORES')[2] or 0
  redis.call('ZADD', numbers, string.format('%.0f', math.max(now, latest + 1)), owner)
  redis.call('PEXPIRE', numbers, MEMORY)
end

-- The command has arrived twice.
if redis.call('HEXISTS', LOCK, owner) == 1 then return hold() end
if redis.call('EXISTS', LATCH) == 1 then return { 2 } end
local now = clock()
if waits then keep_places(now) end
local first = redis.call('LINDEX', queue, 0)
local head, dies = head_of(LOCK)
local left, holder = redis.call('PTTL', LOCK), redis.call('HKEYS', LOCK)[1]
if not holder then
  if not head or head == owner then
    leave_queue(LOCK, owner)
    return hold()
  end
  -- The message that the lock is free went to a waiter that does not take it.
  if head ~= first then wake(LOCK, head) end
  left = (redis.call('ZSCORE', times, head) or now + PERIOD) - now
  if dies then left = math.min(left, dies - now) end
end
if waits then join_queue(now) end
return { 0, left < 0 and PERIOD or math.min(left, PERIOD), holder }
