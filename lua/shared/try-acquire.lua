-- Grants a request that `grant_at_once` has not answered, or gives it a place in the queue. Clients send a request the first
-- time, with each retry, and for the next local waiter in the script that releases.
--- @include "shared/keys"
--- @include "shared/reply-codes"
--- @include "shared/clock"
--- @include "shared/token"
--- @include "shared/modes"
--- @include "shared/holds"
--- @include "shared/admission"
--- @include "shared/grant"
--- @include "shared/end-batches"
--- @include "shared/request"
--- @include "shared/messages"
--- @include "shared/queue"
--- @include "shared/take-place"
--- @include "shared/retry-time"
--- @include "shared/grant-waiters"
--- @include "shared/records"

-- { QUEUED, QUEUED_UNSUBSCRIBED or BUSY, now, rank to go on from or -1, ms until the retry, last token, ids of holds ... }
local function not_held(code, holds, more, delay)
  return { code, now, more, delay, last_token(), unpack(some_holders(holds)) }
end

-- Returns the reply. `after_release`: the same script has just released a hold, so waiters may be granted, or earlier than
-- they expect.
local function try_acquire(holds, request, after_release)
  local from = request.from
  if has_record(TOMBSTONES, request.id) then return { LEFT, now, (grant_waiters(holds, nil, from)) } end
  local refusal = exceeds_limit(request) and { TOO_MANY, now, -1, limit_for(request) }
    or upgrades(holds, request) and { UPGRADE, now, -1 }
  if refusal then
    -- The request may have a ticket from before the number of permits, or the holds of its owner, have changed.
    if drop_ticket(request.id) == 1 or after_release then refusal[3] = grant_waiters(holds, nil, from) end
    return refusal
  end
  if reenters(holds, request) then
    drop_ticket(request.id)
    local hold = grant(holds, request, request.lease, request.batch_size)
    return held(hold, HELD, after_release and grant_waiters(holds, nil, from))
  end

  if not request.waits then
    local more, head = grant_waiters(holds, nil, from)
    if more < 0 and not head and admits(holds, request) then
      drop_ticket(request.id) -- from when its client was subscribed: the ticket of a hold would be granted again
      return held(grant(holds, request, request.lease, request.batch_size))
    end
    return not_held(BUSY, holds, more, retry_time(holds, 0, request) - now)
  end

  -- Nothing can be granted if the lock is held exclusively and the request is not at the head of the queue. The exceptions
  -- are a lock that this script has released or found expired, and a place that an age has changed.
  local changed = after_release or request.age or #holds.expired > 0 or holds.has_more
  drop_expired(holds) -- first: from now on its client is not absent, even if it has let a grant expire
  local is_new, was_empty, since = take_place(request)
  local rank = redis.call('ZRANK', QUEUE, request.id)
  local ticket = { id = request.id, mode = request.mode, since = since, retry_at = retry_time(holds, rank, request),
    stale_at = now + request.patience, lease = request.lease, grant_timeout = request.grant_timeout,
    batch_size = request.batch_size, owner = request.owner }
  write_ticket(ticket)
  keep_queue_for(request.patience, was_empty)
  local more = -1
  if changed or rank == 0 or not is_closed(holds) then more = grant_waiters(holds, request.id, from) end
  local mine = find_hold(holds, request.id)
  if mine then return held(mine, HELD, more) end
  if is_fair(request.batch_size) then
    end_batches(holds)
  elseif holds.sums.permits > 0 then
    if end_uncontended_batches(holds, request) and more < 0 then more = from end
  elseif is_new then
    -- Readers may join the holds that their clients have. An exclusive holder has an uncontended batch if no other client
    -- waited. The request of another kind ends both.
    local joins = request.kind ~= READ and holds.sums.read > 0
    local has_batch = holds.only and is_closed(holds) and last_token() - holds.only.token >= UNCONTENDED_BATCH_SIZE - 1
    if joins or rank == 0 and has_batch then end_batches(holds) end
  end
  return not_held((request.just_heard or is_present(request.id)) and QUEUED or QUEUED_UNSUBSCRIBED, holds, more, ticket.retry_at - now)
end
