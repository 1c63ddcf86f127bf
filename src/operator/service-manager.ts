/**
 * Reports the server's state to systemd, for a unit of `Type=notify`. Node has no datagram sockets of the Unix family, so each message is
 * sent by `systemd-notify`, which needs `NotifyAccess=all` in the unit.
 */
import { spawn } from 'node:child_process'
import { systemClock } from '../system/clock.ts'
import { env } from '../config/config.ts'

export interface ServiceManager {
  /** The server serves. From here on the watchdog, if the unit has one, is notified at its interval. */
  ready(): void
  /** The server ends when its running turns have. */
  stopping(): void
}

/** A message each quarter of the watchdog's time: three may be late or lost. */
const messagesPerWatchdogTime = 4

interface ServiceManagerOptions {
  /** Receives the reason when no message can be sent; at most once. */
  readonly onFailure: (error: Error) => void
  readonly program?: string
}

/** Outside a unit of `Type=notify` both functions do nothing. */
export function connectServiceManager({ onFailure, program = 'systemd-notify' }: ServiceManagerOptions): ServiceManager {
  if (env.text('NOTIFY_SOCKET') === null) return { ready: () => undefined, stopping: () => undefined }
  let hasFailed = false
  const fail = (error: Error): void => {
    if (!hasFailed) onFailure(error)
    hasFailed = true
  }
  const send = (...messages: readonly string[]): void => {
    const child = spawn(program, messages, { stdio: 'ignore' })
    child.on('error', fail)
    child.on('exit', (code) => {
      if (code !== 0) fail(new Error(`${program} ended with ${code}`))
    })
  }
  return {
    ready() {
      send('READY=1')
      const intervalMs = readWatchdogMs() / messagesPerWatchdogTime
      if (intervalMs > 0) systemClock.every(intervalMs, () => send('WATCHDOG=1')).unref()
    },
    stopping: () => send('STOPPING=1'),
  }
}

/** 0 where the unit has no watchdog, or where it watches another process. */
function readWatchdogMs(): number {
  const pid = env.text('WATCHDOG_PID')
  const microseconds = Number(env.text('WATCHDOG_USEC') ?? 0)
  return (pid === null || pid === String(process.pid)) && microseconds > 0 ? microseconds / 1_000 : 0
}
