/** Whether this process may have as many files open as the configuration promises connections. */
import { readFileSync } from 'node:fs'
import type { GatewayConfig } from '../config/config.ts'

/** Database, log, libraries, listening sockets, and connections that are just ending. */
const besides = 256

/** A client's connection and an upstream's for each stream, as many as are allowed of both. */
export function filesNeeded({ limits, upstreams }: Pick<GatewayConfig, 'limits' | 'upstreams'>): number {
  const calls = Object.values(upstreams).reduce((sum, { connections }) => sum + connections, 0)
  return limits.connections + Math.min(limits.connections, calls) + besides
}

/** The system's limit for this process; null where it cannot be known. Node has raised the soft limit to the hard one already. */
export function filesAllowed(limits = read()): number | null {
  const soft = /^Max open files\s+(\d+|unlimited)/m.exec(limits)?.[1]
  return soft === undefined || soft === 'unlimited' ? null : Number(soft)
}

function read(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8')
  } catch {
    return ''
  }
}
