/**
 * Requests per minute in Valkey or Redis: one script for all concurrent requests. A connection is used until its first failure and then
 * replaced: the library's own recovery would resend requests that were already counted, and waits for ever for a silent server.
 */
import { Redis } from 'iovalkey'
import type { RedisOptions } from 'iovalkey'
import { systemClock } from '../../system/clock.ts'
import type { RateLimitStore } from './rate-limit-store.ts'
import { minuteMs, requestUnits } from './limits.ts'

/** The clock by which all nodes count. */
const serverClock = "local time = redis.call('TIME')\nlocal now = time[1] * 1000 + math.floor(time[2] / 1000)"

/**
 * Subjects are keys; each has two arguments, its limit and its number of requests. The value is `units at`. Its expiry is set in the same
 * step: a counter without one would stay for ever. If the clock was set back, time continues from the stored time.
 */
function limitScript(clock = serverClock): string {
  return `${clock}
local used = {}
for i, key in ipairs(KEYS) do
  local perMinute, count = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
  local burst = perMinute * ${requestUnits}
  local before = 0
  local known = redis.call('GET', key)
  if known then
    local units, at = string.match(known, '^(%d+) (%d+)$')
    before = math.min(math.max(0, units - math.max(0, now - at) * perMinute), burst)
  end
  local granted = math.min(count, math.floor((burst - before) / ${requestUnits}))
  redis.call('SET', key, string.format('%.0f %.0f', math.max(0, before + granted * ${requestUnits}), now), 'PX', ${minuteMs})
  used[i] = before
end
return used`
}

interface ValkeyOptions {
  /** `valkey://user:password@host:6379/0`; `rediss://` and `valkeys://` are encrypted. */
  readonly url: string
  /** Prefix of each subject's key. */
  readonly prefix: string
  readonly connectTimeoutMs: number
  /** Replaces the server's clock; for tests. */
  readonly clock?: string
}

/** Rejects if the server cannot be reached, refuses the credentials, or does not answer. */
export async function openValkeyStore({ url, prefix, connectTimeoutMs, clock }: ValkeyOptions): Promise<RateLimitStore> {
  const client = new Redis({
    ...toRedisOptions(url),
    connectTimeout: connectTimeoutMs,
    disconnectTimeout: 100,
    lazyConnect: true,
    enableOfflineQueue: false,
    // The check needs a command that an access list may deny; the script is the better proof.
    enableReadyCheck: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  })
  // Errors reach the caller; a refused authentication is reported only here.
  let firstError: Error | undefined
  client.on('error', (error) => (firstError ??= error))
  const close = (): void => client.disconnect()
  const timer = systemClock.after(connectTimeoutMs, close)
  try {
    await client.connect()
    const script = String(await client.script('LOAD', limitScript(clock)))
    return {
      async consume(requests) {
        const args = requests.flatMap(({ perMinute, count }) => [perMinute, count])
        const keys = requests.map(({ subject }) => prefix + subject)
        return parseNumbers(await client.evalsha(script, keys.length, ...keys, ...args))
      },
      close,
    }
  } catch (error) {
    close()
    throw stripCommand(firstError ?? error)
  } finally {
    timer.cancel()
  }
}

function parseNumbers(answer: unknown): readonly number[] {
  if (!Array.isArray(answer) || !answer.every((one) => typeof one === 'number')) throw new Error('the script returned no numbers')
  return answer
}

/** The library's errors contain the failed command, and with it a password. */
function stripCommand(error: unknown): Error {
  return new Error(error instanceof Error ? error.message : String(error))
}

function toRedisOptions(url: string): RedisOptions {
  const { protocol, hostname, port, username, password, pathname } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  return {
    host,
    port: port === '' ? 6379 : Number(port),
    // IPv4 or IPv6, whichever the name has.
    family: 0,
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    db: Number(pathname.slice(1)),
    ...(protocol === 'rediss:' || protocol === 'valkeys:' ? { tls: { servername: host } } : {}),
  }
}
