-- Grants a request, or gives it a place in the queue. Clients send a request the first time, with each retry, and for the
-- next local waiter in the script that releases.
--- @include "shared/keys"
--- @include "shared/reply-codes"
--- @include "shared/clock"
--- @include "shared/token"
--- @include "shared/modes"
--- @include "shared/holds"
--- @include "shared/request"
--- @include "shared/messages"
--- @include "shared/queue"
--- @include "shared/take-place"
--- @include "shared/retry-time"
--- @include "shared/grant-waiters"
--- @include "shared/tombstones"

-- { QUEUED, QUEUED_UNSUBSCRIBED or BUSY, now, ms until the retry, last token, rank to go on from or -1, ids of holds ... }
local function not_held(code, holds, delay, more)
  local reply = { code, now, delay, last_token(), more or -1 }
  if holds.crowd then holds = holds.crowd.some(MAX_HOLDERS) end
  for i = 1, math.min(#holds, MAX_HOLDERS) do
    if not holds[i].kept then reply[#reply + 1] = holds[i].id end
  end
  return reply
end

-- `after_release`: the same script has just released a hold, so waiters may be granted, or earlier than they expect.
-- `gone`: see read_holds.
local function try_acquire(request, after_release, gone)
  local from = request.from
  local holds, ended = read_holds(gone)
  local mine = find_hold(holds, request.id)
  if mine then
    --- @include "shared/complete"
    return complete(holds, mine, request)
  end
  if admits(holds, request) and redis.call('EXISTS', QUEUE, TOMBSTONES) == 0 then
    drop_ended(ended)
    return held(grant(holds, request, request.lease, request.uncontended_batch_size))
  end
  if has_tombstone(request.id) then
    grant_waiters(holds, ended, nil, from)
    return { LEFT, now }
  end
  if exceeds_limit(request) then
    -- The request may have a ticket from before the number of permits was lowered.
    if drop_ticket(request.id) == 1 then grant_waiters(holds, ended, nil, from) end
    --- @include "shared/limit"
    return { TOO_MANY, now, limit_for(request) }
  end
  if upgrades(holds, request) then
    -- The request may have a ticket from before the read lock was granted to its owner.
    if drop_ticket(request.id) == 1 then grant_waiters(holds, ended, nil, from) end
    return { UPGRADE, now }
  end
  if reenters(holds, request) then
    drop_ticket(request.id)
    return held(grant(holds, request, request.lease, request.batch_size))
  end

  if not request.waits then
    local more, head = grant_waiters(holds, ended, nil, from)
    if not more and not head and admits(holds, request) then
      drop_ticket(request.id) -- from when its client was subscribed: the ticket of a hold would be granted again
      return held(grant(holds, request, request.lease, request.batch_size))
    end
    return not_held(BUSY, holds, retry_time(holds, 0, request) - now, more)
  end

  local is_new, was_empty, since = take_place(request)
  local rank = redis.call('ZRANK', QUEUE, request.id)
  local ticket = { id = request.id, mode = request.mode, since = since, retry_at = retry_time(holds, rank, request),
    stale_at = now + request.patience, lease = request.lease, grant_timeout = request.grant_timeout,
    batch_size = request.batch_size, owner = request.owner }
  write_ticket(ticket)
  keep_queue_for(request.patience, was_empty)
  local more
  -- Nothing can be granted if the lock is held exclusively and the request is not at the head of the queue. The exceptions
  -- are a lock that this script has released, and a place that an age has changed.
  local changed = after_release or request.age or #ended > 0 or holds.crowd and holds.crowd.has_more
  if changed or rank == 0 or not is_closed(holds) then more = grant_waiters(holds, ended, request.id, from) end
  mine = find_hold(holds, request.id)
  if mine then return held(mine) end
  local of_permits = #holds > 0 and holds[1].kind == PERMITS or holds.crowd and holds.crowd.has(PERMITS)
  -- The holder has an uncontended batch, since no other client waited. Several holders of permits may have one each.
  -- Readers of these clients may join the holds that their clients have.
  local of_readers = request.kind ~= READ and (#holds > 0 and holds[1].kind == READ or holds.crowd and holds.crowd.has(READ))
  local has_uncontended_batch = #holds == 1 and last_token() - holds[1].token >= UNCONTENDED_BATCH_SIZE - 1
  local ends_batch = of_permits or is_new and (of_readers or rank == 0 and has_uncontended_batch)
  if is_fair(request.batch_size) or ends_batch then
    --- @include "shared/end-batches"
    if is_fair(request.batch_size) or not of_permits then
      end_batches(holds, function() return true end)
    else
      end_uncontended_batches(holds, request)
    end
  end
  return not_held((request.just_heard or is_present(request.id)) and QUEUED or QUEUED_UNSUBSCRIBED, holds, ticket.retry_at - now, more)
end
