/** What turns leave on the disk, and what the ledger does for them. */
import { readFileSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { dirname, join } from 'node:path'
import type { Subject } from './subject.ts'

export interface Books {
  /** Of the database, with what is still in its log. */
  readonly kept: number
  readonly logged: number
  /** What the system was given to write to disks. */
  readonly written: number
  readonly operations: number
  readonly commits: number
  readonly syncs: number
}

export async function booksOf({ own, pid }: Subject): Promise<Books | undefined> {
  if (own === undefined) return undefined
  const db = new DatabaseSync(own.database, { readOnly: true, timeout: 10_000 })
  const number = (pragma: string): number => Number(Object.values(db.prepare(`pragma ${pragma}`).get() ?? {})[0])
  const kept = (number('page_count') - number('freelist_count')) * number('page_size')
  db.close()
  const metrics = await fetch(own.metrics).then(
    (answer) => answer.text(),
    // An older version has no listener for them.
    () => '',
  )
  const counter = (name: string): number => Number(new RegExp(`^svc_ledger_${name}_total (\\S+)`, 'm').exec(metrics)?.[1])
  return {
    kept,
    logged: statSync(join(dirname(own.database), 'log')).size,
    written: Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]),
    operations: counter('operations'),
    commits: counter('commits'),
    syncs: counter('syncs'),
  }
}

export interface BooksOfATurn {
  readonly kept: number
  readonly logged: number
  readonly written: number
  readonly operationsACommit: number
  readonly syncs: number
}

export function perTurn(before: Books, after: Books, turns: number): BooksOfATurn {
  const more = (field: keyof Books): number => after[field] - before[field]
  return {
    kept: more('kept') / turns,
    logged: more('logged') / turns,
    written: more('written') / turns,
    operationsACommit: more('operations') / more('commits'),
    syncs: more('syncs') / turns,
  }
}
