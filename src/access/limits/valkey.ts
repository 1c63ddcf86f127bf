/**
 * Requests a minute in Valkey or Redis: one script for all that is asked at once. A connection is used until it first fails and then thrown
 * away: the library's own ways to mend one send again what was already counted, and wait for ever for a server that is silent.
 */
import { Redis } from 'iovalkey'
import type { RedisOptions } from 'iovalkey'
import type { LimitBook } from './book.ts'
import { minuteMs, requestUnits } from './limits.ts'

/** By which all nodes count. */
const serverClock = "local time = redis.call('TIME')\nlocal now = time[1] * 1000 + math.floor(time[2] / 1000)"

/**
 * Subjects are keys; each has two arguments, its limit and how many requests it asks for. What is kept is `units at`, and its end is set in the
 * same step: a counter without one would stay for ever. Where the clock was put back, time goes on from there.
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
  redis.call('SET', key, string.format('%.0f %.0f', before + granted * ${requestUnits}, now), 'PX', ${minuteMs})
  used[i] = before
end
return used`
}

export interface ValkeyPlace {
  /** `valkey://user:password@host:6379/0`; `rediss://` and `valkeys://` are encrypted. */
  readonly url: string
  /** Before each subject. */
  readonly prefix: string
  readonly connectMs: number
  /** Other than the server's; for tests. */
  readonly clock?: string
}

/** Rejects where the server cannot be reached, lets us not in, or does not answer. */
export async function openValkeyBook({ url, prefix, connectMs, clock }: ValkeyPlace): Promise<LimitBook> {
  const client = new Redis({
    ...placeOf(url),
    connectTimeout: connectMs,
    disconnectTimeout: 100,
    lazyConnect: true,
    enableOfflineQueue: false,
    // It would ask for what a member of an access list may not be allowed; the script is the better proof.
    enableReadyCheck: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  })
  // What fails is told to whoever asks; a sign-in that is refused is told here alone.
  let fault: Error | undefined
  client.on('error', (error) => (fault ??= error))
  const close = (): void => client.disconnect()
  const late = setTimeout(close, connectMs)
  try {
    await client.connect()
    const script = String(await client.script('LOAD', limitScript(clock)))
    return {
      async take(asks) {
        const words = asks.flatMap(({ perMinute, count }) => [perMinute, count])
        const keys = asks.map(({ subject }) => prefix + subject)
        return numbersIn(await client.evalsha(script, keys.length, ...keys, ...words))
      },
      close,
    }
  } catch (error) {
    close()
    throw plain(fault ?? error)
  } finally {
    clearTimeout(late)
  }
}

function numbersIn(answer: unknown): readonly number[] {
  if (!Array.isArray(answer) || !answer.every((one) => typeof one === 'number')) throw new Error('the script gave no numbers')
  return answer
}

/** The library's errors carry the command that failed, and with it a password. */
function plain(error: unknown): Error {
  return new Error(error instanceof Error ? error.message : String(error))
}

function placeOf(url: string): RedisOptions {
  const { protocol, hostname, port, username, password, pathname } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  return {
    host,
    port: port === '' ? 6379 : Number(port),
    // Whichever kind of address the name has.
    family: 0,
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    db: Number(pathname.slice(1)),
    ...(protocol === 'rediss:' || protocol === 'valkeys:' ? { tls: { servername: host } } : {}),
  }
}
