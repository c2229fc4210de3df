-- Takes tokens from several buckets, each all or nothing. Run by adapters/redis/limits.py, many callers in one call.
-- KEYS: the buckets. ARGV: three numbers for each: capacity, refill per second, tokens wanted.
-- A bucket is stored as "LEVEL SINCE_US" and vanishes when it is full again. The time is the server's, so that the
-- clocks of managers need not agree. Answers three values for each: allowed (0 or 1), level, microseconds to wait.
local TOLERANCE = 1e-9
local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
local levels = redis.call('MGET', unpack(KEYS))
local answers = {}
local changed = {}
for i = 1, #KEYS do
  local capacity = tonumber(ARGV[3 * i - 2])
  local refill_per_us = tonumber(ARGV[3 * i - 1]) / 1000000
  local wanted = tonumber(ARGV[3 * i])
  local stored = changed[KEYS[i]] or levels[i]
  local level = capacity
  if stored then
    local old_level, since_us = string.match(stored, '^(%S+) (%S+)$')
    local passed_us = math.max(0, now_us - tonumber(since_us)) -- the server's clock may be set back
    level = math.min(capacity, tonumber(old_level) + passed_us * refill_per_us)
  end
  local allowed = level + TOLERANCE >= wanted
  local wait_us = 0
  if allowed then
    level = math.max(0, level - wanted)
    local text = string.format('%.17g %.0f', level, now_us)
    changed[KEYS[i]] = text
    redis.call('SET', KEYS[i], text, 'PX', math.ceil((capacity - level) / refill_per_us / 1000) + 1)
  else
    wait_us = math.ceil((wanted - level) / refill_per_us)
  end
  answers[3 * i - 2] = allowed and 1 or 0
  answers[3 * i - 1] = math.floor(level + TOLERANCE)
  answers[3 * i] = wait_us
end
return answers
