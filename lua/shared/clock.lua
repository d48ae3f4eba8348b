-- The server's clock decides when leases end. Clients send durations and never points in time.
local now, now_micros
do
  local time = redis.call('TIME')
  now_micros = time[1] * 1000000 + time[2]
  now = math.floor(now_micros / 1000)
end

-- Formats a number without an exponent: Lua would write 1.7e+15.
local function integer(number)
  return string.format('%.0f', number)
end
