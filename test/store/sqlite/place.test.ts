/** One server's place beside a database, and who has it next. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { Place } from '../../../src/store/sqlite/place.ts'
import { folderOf } from './support.ts'

const place = JSON.stringify(join(import.meta.dirname, '../../../src/store/sqlite/place.ts'))

t.test('whoever waits for a place has it as soon as it is let go', async (t) => {
  const file = join(folderOf(t), 'store.db')
  for (const afterMs of [20, 60, 110, 150]) {
    const holding = `
      const { Place } = await import(${place})
      const mine = Place.take(${JSON.stringify(file)}, process.pid, 0)
      process.stdin.once('data', () => setTimeout(() => mine.release(), ${afterMs}))
      console.log('taken')`
    const holder = spawn(process.execPath, ['--input-type=module', '-e', holding], { stdio: ['pipe', 'pipe', 'inherit'] })
    const closed = once(holder, 'close')
    await once(holder.stdout, 'data')
    holder.stdin.end('go')
    t.doesNotThrow(() => Place.take(file, process.pid, 0).release(), `after ${afterMs} ms`)
    await closed
  }
})
