-- Asking for the lock: the first time, again while waiting, and for the next local waiter in the script that releases.
-- A script may arrive twice: what has been granted already is told again. A pushed grant becomes a full lease then, as
-- if it had been full from the start, so a repeat that arrives late makes no fixed lease longer.
local function complete(holds, hold, request)
  -- While it alone has the lock the tokens that came with it are the last ones.
  local alone = #holds == 1 and request.turns > 1 and not fair_waits()
  hold.turns = alone and last_token() - hold.token + 1 or 1
  local ends, found = math.max(hold.ends, hold.since + request.lease), hold.pushed
  if ends > hold.ends or found then
    hold.ends, hold.pushed = ends, nil
    set_state_ttl(holds) -- before the write: refused for lack of memory only as the first write of a script
    write_hold(hold)
  end
  return held(hold, found and FOUND)
end

-- { QUEUED, UNHEARD or BUSY, now, ms until to ask again, last token, place to go on from or -1, ids of those who hold it … }
local function not_held(code, holds, delay, more)
  local reply = { code, now, delay, last_token(), more or -1 }
  for i = 1, math.min(#holds, 4) do
    if not holds[i].kept then reply[#reply + 1] = holds[i].id end
  end
  return reply
end

-- So many turns somebody has who was asked for by several while nobody else waited. The same number stands in
-- lib/store/lock-store.ts.
local TURNS_ALONE = 1000

-- `gives_back`: the same script has just given back a hold, so others may come in, or sooner than they think.
local function ask(request, gives_back)
  local from = request.from
  local holds, ended = read_holds()
  local mine = find_hold(holds, request.id)
  if mine then return complete(holds, mine, request) end
  if admits(holds, request) and redis.call('EXISTS', QUEUE, GONE) == 0 then
    drop_ended(ended)
    return held(grant(holds, request, request.lease, request.turns_alone))
  end
  if has_left(request.id) then
    settle(holds, ended, nil, from)
    return { LEFT, now }
  end
  if exceeds_limit(request) then
    -- It may wait already, from before the number of permits was lowered.
    if drop_ticket(request.id) == 1 then settle(holds, ended, nil, from) end
    return { TOO_MANY, now, limit_for(request) }
  end
  if upgrades(holds, request) then
    -- It may wait already, from before its own reader got in.
    if drop_ticket(request.id) == 1 then settle(holds, ended, nil, from) end
    return { UPGRADE, now }
  end
  if reenters(holds, request) then
    drop_ticket(request.id)
    return held(grant(holds, request, request.lease, request.turns))
  end

  if not request.waits then
    local more, head = settle(holds, ended, nil, from)
    if not more and not head and admits(holds, request) then
      drop_ticket(request.id) -- from when its client could hear: a ticket of somebody who holds would be granted again
      return held(grant(holds, request, request.lease, request.turns))
    end
    return not_held(BUSY, holds, ask_time(holds, 0, request) - now, more)
  end

  local is_new, was_empty = take_place(request)
  local place = redis.call('ZRANK', QUEUE, request.id)
  local ticket = { id = request.id, mode = request.mode, ask_at = ask_time(holds, place, request),
    stale_at = now + request.patience, lease = request.lease, grant_timeout = request.grant_timeout, turns = request.turns,
    owner = request.owner }
  write_ticket(ticket)
  keep_queue_for(request.patience, was_empty)
  local more
  -- Behind somebody else who waits, while somebody has the lock alone, nothing has changed that was not seen to already;
  -- but for what this script has given back, and a place that an age has changed.
  local changed = gives_back or request.age or #ended > 0
  if changed or place == 0 or not is_closed(holds) then more = settle(holds, ended, request.id, from) end
  mine = find_hold(holds, request.id)
  if mine then return held(mine) end
  if request.turns == 0 then
    for i = 1, math.min(#holds, 4) do tell_to_yield(holds[i]) end
  elseif is_new and place == 0 and #holds == 1 and last_token() - holds[1].token >= TURNS_ALONE - 1 then
    tell_to_yield(holds[1]) -- it has as many turns as it likes, since nobody else waited
  end
  return not_held(is_present(request.id) and QUEUED or UNHEARD, holds, ticket.ask_at - now, more)
end
