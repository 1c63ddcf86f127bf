/** Compares the process's limit on open files with the connections that the configuration allows. */
import { readFileSync } from 'node:fs'
import type { GatewayConfig } from '../config/config.ts'
import type { Services } from '../services/services.ts'

/** For the database, the log, libraries, listening sockets, and connections that are closing. */
const reservedFiles = 256

/** Warns if the system's limit on open files is below what the configuration needs. */
export function warnAboutFileLimit({ config, log }: Pick<Services, 'config' | 'log'>): void {
  const [neededFiles, allowedFiles] = [countFilesNeeded(config), getFileLimit()]
  if (allowedFiles !== null && allowedFiles < neededFiles)
    log.warn(
      { allowed: allowedFiles, needed: neededFiles },
      `this process may open ${allowedFiles} files, enough for about ${Math.max(0, Math.floor((allowedFiles - reservedFiles) / 2))} concurrent streams; for the configured number of connections, start it with ulimit -n ${neededFiles}`,
    )
}

/** Files for the configured connections: one of a client and one to an upstream for each stream. */
export function countFilesNeeded({ limits, upstreams }: Pick<GatewayConfig, 'limits' | 'upstreams'>): number {
  const calls = Object.values(upstreams).reduce((sum, { connections }) => sum + connections, 0)
  return limits.connections + Math.min(limits.connections, calls) + reservedFiles
}

/** The soft limit of this process; null if unknown. Node has already raised it to the hard limit. */
export function getFileLimit(limits = readLimits()): number | null {
  const soft = /^Max open files\s+(\d+|unlimited)/m.exec(limits)?.[1]
  return soft === undefined || soft === 'unlimited' ? null : Number(soft)
}

function readLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8')
  } catch {
    return ''
  }
}
