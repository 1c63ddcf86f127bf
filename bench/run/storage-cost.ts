/** Measures the disk space of turns and the ledger's work for them. */
import { readFileSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { dirname, join } from 'node:path'
import type { Subject } from './subjects/subject.ts'

export interface StorageCounters {
  /** Size of the database including its log. */
  readonly databaseBytes: number
  readonly logBytes: number
  /** Bytes that the system was given to write to disks. */
  readonly writtenBytes: number
  readonly operations: number
  readonly commits: number
  readonly fsyncs: number
}

export async function readStorageCounters({ own, pid }: Subject): Promise<StorageCounters | undefined> {
  if (own === undefined) return undefined
  const db = new DatabaseSync(own.database, { readOnly: true, timeout: 10_000 })
  const number = (pragma: string): number => Number(Object.values(db.prepare(`pragma ${pragma}`).get() ?? {})[0])
  const databaseBytes = (number('page_count') - number('freelist_count')) * number('page_size')
  db.close()
  const metrics = await fetch(own.metrics).then(
    (answer) => answer.text(),
    // An older version has no listener for metrics.
    () => '',
  )
  const counter = (name: string): number => Number(new RegExp(`^svc_ledger_${name}_total (\\S+)`, 'm').exec(metrics)?.[1])
  return {
    databaseBytes,
    logBytes: statSync(join(dirname(own.database), 'log')).size,
    writtenBytes: Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]),
    operations: counter('operations'),
    commits: counter('commits'),
    fsyncs: counter('fsyncs'),
  }
}

export interface StorageCostPerTurn {
  readonly databaseBytes: number
  readonly logBytes: number
  readonly writtenBytes: number
  readonly operationsPerCommit: number
  readonly fsyncs: number
}

export function toCostPerTurn(before: StorageCounters, after: StorageCounters, turns: number): StorageCostPerTurn {
  const increase = (field: keyof StorageCounters): number => after[field] - before[field]
  return {
    databaseBytes: increase('databaseBytes') / turns,
    logBytes: increase('logBytes') / turns,
    writtenBytes: increase('writtenBytes') / turns,
    operationsPerCommit: increase('operations') / increase('commits'),
    fsyncs: increase('fsyncs') / turns,
  }
}
