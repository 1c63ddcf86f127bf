/** One long read, then the end of the thread. */
import type { GoOn } from '../task.ts'
import { answer } from '../task.ts'
import { backUp } from './backup.ts'
import { defaultBusyTimeoutMs, openForReading } from './connection.ts'
import { cutsInFile } from './cut-file.ts'
import type { Task, Tasks } from './reader.ts'
import { verifyFile } from './verify-file.ts'

await answer(perform)

async function perform(task: Task, goOn: GoOn): Promise<Tasks[keyof Tasks]['gives']> {
  switch (task.kind) {
    case 'verify':
      return verifyFile(task.file, goOn)
    case 'backup':
      return backUp(task.file, task.to)
    case 'cuts':
      return cutsInFile(task.file, task.before, task.limit, goOn)
    case 'turns': {
      // Only this task needs the query builder, which takes longer to load than a small ledger to verify.
      const [{ turnsIn }, { readingFrom }] = await Promise.all([import('../turns.ts'), import('./dialect.ts')])
      const db = openForReading(task.file, defaultBusyTimeoutMs)
      try {
        return await turnsIn(readingFrom(db), task.query)
      } finally {
        db.close()
      }
    }
    case 'check': {
      const db = openForReading(task.file, defaultBusyTimeoutMs)
      try {
        return db.pragma('integrity_check(1)', { simple: true }) === 'ok'
      } finally {
        db.close()
      }
    }
  }
}
