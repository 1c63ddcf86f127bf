/** The workbench's log. */
import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openLog } from '../../../../src/cli/workbench/log.ts'
import { createFolder } from './support/test-workbench.ts'

t.test('the log is readable by the user only, one JSON line per entry, and within its size limit', (t) => {
  const path = join(createFolder(t), 'workbench.log')
  const log = openLog(path, () => 0, 200)
  log({ method: 'system.ping', code: 'ok' })
  t.equal((statSync(path).mode & 0o777).toString(8), '600')
  t.strictSame(JSON.parse(readFileSync(path, 'utf8')), { at: '1970-01-01T00:00:00.000Z', method: 'system.ping', code: 'ok' })
  for (let i = 0; i < 20; i += 1) log({ i })
  t.ok(statSync(path).size <= 200)
  t.ok(existsSync(`${path}.1`), 'what came before is kept once')
  t.match(readFileSync(path, 'utf8'), /"i":19/)
  const again = openLog(path, () => 0, 200)
  for (let i = 0; i < 3; i += 1) again({ again: i })
  t.ok(statSync(path).size <= 200, 'also when it is opened again')
  t.end()
})

t.test('a line that cannot be written is dropped without an error', (t) => {
  const state = join(createFolder(t), 'state')
  mkdirSync(state)
  const path = join(state, 'workbench.log')
  const log = openLog(path, () => 0)
  log({ i: 0 })
  rmSync(state, { recursive: true })
  t.doesNotThrow(() => log({ i: 1 }))
  mkdirSync(state)
  log({ i: 2 })
  t.match(readFileSync(path, 'utf8'), /"i":2/, 'the next one that can be is written')
  t.end()
})
