/** What `test/support` changes of the runner: failures must be found, and told with their test and their file. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '..')

t.test('what nobody catches fails the test in whose course it was thrown, under the name of its file', (t) => {
  mkdirSync(join(root, '.tap'), { recursive: true })
  const folder = mkdtempSync(join(root, '.tap/runner-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const write = (name: string, text: string) => writeFileSync(join(folder, name), `import t from 'tap'\n${text}`)
  const path = (name: string) => join(folder, name).slice(root.length + 1)
  write(
    'one.ts',
    `t.test('an assertion', async (t) => { t.test('within', async (t) => { t.equal(1, 2) }) })
    t.test('a timer', (t) => void setTimeout(() => { throw new Error('thrown late') }, 1))`,
  )
  write('two.ts', `t.test('a promise', (t) => void Promise.reject(new Error('left to fail')))`)
  write('three.ts', `t.test('nothing', (t) => void setTimeout(() => { t.pass(); t.end() }, 1))`)
  writeFileSync(
    join(folder, 'all.ts'),
    `import { together } from '../../test/support/together.ts'\nawait together(${JSON.stringify(['one.ts', 'two.ts', 'three.ts'].map(path))})`,
  )
  const preload = `--import=${join(root, 'test/support/quick-start.js')}`
  const { stdout, status } = spawnSync(process.execPath, [preload, join(folder, 'all.ts')], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] ?? '', TAP: '1', _TAPJS_PROCESSINFO_COVERAGE_: '0' },
  })
  const points = stdout.split('\n').filter((line) => /^ *(not )?ok /.test(line))
  t.same(
    points.map((line) => line.replace(/ # time.*/, '')),
    [
      '            not ok 1 - should be equal',
      '        not ok 1 - within',
      '    not ok 1 - an assertion',
      '        not ok 1 - thrown late',
      '    not ok 2 - a timer',
      `not ok 1 - ${path('one.ts')}`,
      '        not ok 1 - left to fail',
      '    not ok 1 - a promise',
      `not ok 2 - ${path('two.ts')}`,
      '        ok 1 - (unnamed test)',
      '    ok 1 - nothing',
      `ok 3 - ${path('three.ts')}`,
    ],
  )
  t.equal(status, 1)
  t.end()
})
