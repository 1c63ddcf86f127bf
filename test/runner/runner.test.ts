/** What this folder changes about the runner: errors are attributed to their test and file, and reused threads behave like new ones. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'

const root = join(import.meta.dirname, '../..')

/** Runs these files in one process, as `npm test` does. Returns the report, with `FOLDER` for their location, and the exit code. */
function runTogether(t: Test, files: Readonly<Record<string, string>>, tests = Object.keys(files)) {
  mkdirSync(join(root, '.tap'), { recursive: true })
  const folder = mkdtempSync(join(root, '.tap/runner-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const path = folder.slice(root.length + 1)
  const list = JSON.stringify(tests.map((name) => `${path}/${name}`))
  writeFileSync(join(folder, 'all.ts'), `import { runFiles } from '../../test/runner/run-files.ts'\nawait runFiles(${list})`)
  const preload = `--import=${join(root, 'test/runner/preload.js')}`
  const { stdout, status } = spawnSync(process.execPath, [preload, join(folder, 'all.ts')], {
    encoding: 'utf8',
    timeout: 120_000,
    env: { PATH: process.env['PATH'] ?? '', TAP: '1', _TAPJS_PROCESSINFO_COVERAGE_: '0' },
  })
  const points = stdout.split('\n').filter((line) => /^ *(not )?ok /.test(line))
  return { points: points.map((line) => line.replace(/ # time.*/, '').replace(path, 'FOLDER')), status }
}

t.test('an uncaught error fails the test during which it was thrown, under the name of its file', async (t) => {
  const tap = `import t from 'tap'\n`
  const { points, status } = runTogether(t, {
    'one.ts': `${tap}t.test('an assertion', async (t) => { t.test('within', async (t) => { t.equal(1, 2) }) })
    t.test('a timer', (t) => void setTimeout(() => { throw new Error('thrown late') }, 1))`,
    'two.ts': `${tap}t.test('a promise', (t) => void Promise.reject(new Error('left to fail')))`,
    'three.ts': `${tap}t.test('nothing', (t) => void setTimeout(() => { t.pass(); t.end() }, 1))`,
  })
  t.same(points, [
    '            not ok 1 - should be equal',
    '        not ok 1 - within',
    '    not ok 1 - an assertion',
    '        not ok 1 - thrown late',
    '    not ok 2 - a timer',
    'not ok 1 - FOLDER/one.ts',
    '        not ok 1 - left to fail',
    '    not ok 1 - a promise',
    'not ok 2 - FOLDER/two.ts',
    '        ok 1 - (unnamed test)',
    '    ok 1 - nothing',
    'ok 3 - FOLDER/three.ts',
  ])
  t.equal(status, 1)
})

t.test('a helper that imports the root of all tests is refused', async (t) => {
  const { points, status } = runTogether(
    t,
    {
      'helper.ts': `import t from 'tap'\nexport const check = () => t.test('within', async () => {})`,
      'one.ts': `import t from 'tap'\nimport { check } from './helper.ts'\nt.pass()\ncheck()`,
    },
    ['one.ts'],
  )
  t.match(points[0], /not ok 1 - .*helper\.ts is not a test file; it takes the test as a parameter/)
  t.equal(status, 1)
})

t.test(
  'a thread of the store is reused for the next program unless it died, and delivers all its messages before it ends',
  async (t) => {
    const { points, status } = runTogether(
      t,
      {
        'task-thread.ts': `import { parentPort, threadId, workerData } from 'node:worker_threads'
        if (workerData === 'dies') throw new Error('as it was told')
        for (let word = 0; word < 3; word++) parentPort?.postMessage([threadId, workerData])`,
        'threads.ts': `import { Worker } from 'node:worker_threads'
        import t from 'tap'
        async function run(workerData: unknown) {
          const said: [number, unknown][] = []
          const worker = new Worker(new URL('task-thread.ts', import.meta.url), { workerData })
          worker.on('message', (words) => said.push(words))
          let error: Error | undefined
          worker.on('error', (met) => (error = met as Error))
          const code = await new Promise((resolve) => worker.on('exit', resolve))
          return { code, said, error }
        }
        const [first] = (await run(0)).said[0]!
        for (let nth = 1; nth < 200; nth++) {
          const told = await run(nth)
          if (told.code !== 0 || told.said.length !== 3 || told.said.some(([id, data]) => id !== first || data !== nth))
            t.fail(JSON.stringify(told))
        }
        const { code, error } = await run('dies')
        t.same([code, error?.message], [1, 'as it was told'])
        const [[next]] = (await run('again')).said as [[number, unknown]]
        t.not(next, first, 'whoever died is not asked again')`,
      },
      ['threads.ts'],
    )
    t.same(points, ['    ok 1 - should be equivalent', '    ok 2 - whoever died is not asked again', 'ok 1 - FOLDER/threads.ts'])
    t.equal(status, 0)
  },
)
