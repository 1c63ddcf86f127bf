/** The log: one JSON line an event, the request id in each; never a secret, never a word of a prompt. */
import { pino } from 'pino'
import type { Logger } from 'pino'

/** Lines hold chosen fields only, so there is nothing to redact. `destination` is where lines go; standard error by default, so that standard output stays free for people. */
export function createLog(level: string, destination?: { write(line: string): void }): Logger {
  const options = {
    level,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: toSafeError },
  }
  return destination === undefined ? pino(options, pino.destination({ dest: 2, sync: false })) : pino(options, destination)
}

/** An error's name, message and place, its causes too; nothing else that somebody hung on it. */
function toSafeError(error: unknown): unknown {
  if (!(error instanceof Error)) return { message: String(error) }
  return {
    name: error.name,
    message: error.message,
    stack: error.stack,
    ...(error.cause === undefined ? {} : { cause: toSafeError(error.cause) }),
  }
}
