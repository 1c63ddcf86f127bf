/** The lock that allows one server per database. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { ServerLock } from '../../../../../src/store/sqlite/process/server-lock.ts'
import { createTemporaryFolder } from '../../../../support/store/sqlite/support.ts'

const modulePath = JSON.stringify(join(import.meta.dirname, '../../../../../src/store/sqlite/process/server-lock.ts'))

t.test('acquires the lock as soon as its owner releases it', async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  for (const afterMs of [20, 60, 110, 150]) {
    const holding = `
      const { ServerLock } = await import(${modulePath})
      const lock = ServerLock.acquire(${JSON.stringify(file)}, process.pid, 0)
      process.stdin.once('data', () => setTimeout(() => lock.release(), ${afterMs}))
      console.log('taken')`
    const holder = spawn(process.execPath, ['--input-type=module', '-e', holding], { stdio: ['pipe', 'pipe', 'inherit'] })
    const closed = once(holder, 'close')
    await once(holder.stdout, 'data')
    holder.stdin.end('go')
    t.doesNotThrow(() => ServerLock.acquire(file, process.pid, 0).release(), `after ${afterMs} ms`)
    await closed
  }
})
