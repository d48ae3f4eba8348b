-- The server's clock decides when leases end. Clients send durations and never points in time.
local function server_time()
  local time = redis.call('TIME')
  local micros = time[1] * 1000000 + time[2]
  return math.floor(micros / 1000), micros
end
local now, now_micros = server_time()

-- Formats a number without an exponent: Lua would write 1.7e+15.
local function integer(number)
  return string.format('%.0f', number)
end
