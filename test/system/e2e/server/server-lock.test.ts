/** One server works on a data folder at a time; commands work beside it and end none of its turns. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { createClock } from '../../../../src/system/clock.ts'
import { compileCacheEnvironment } from '../../../runner/clean-command.ts'
import { startGateway, createTemporaryFolder } from '../../../support/gateway/test-gateway.ts'
import { startServerProcess } from '../../../support/processes/server-process.ts'

const program = fileURLToPath(new URL('../../../../src/operator/main.ts', import.meta.url))

/** Runs an operator command in a process of its own. */
async function runCommand(dataDir: string, ...words: readonly string[]): Promise<{ code: unknown; output: string }> {
  const child = spawn(process.execPath, [program, ...words], {
    env: { PATH: process.env['PATH'] ?? '', DATA_DIR: dataDir, ...compileCacheEnvironment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [told, complaint, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: code as unknown, output: told + complaint }
}

t.test('refuses a second server and names the first; the lock of a killed server is free at once', async (t) => {
  const folder = createTemporaryFolder(t)
  const environment = { DATA_DIR: folder, LOG_LEVEL: 'silent' }
  const first = await startServerProcess(t, environment)
  const link = join(createTemporaryFolder(t), 'the-same')
  symlinkSync(folder, link)
  const refused = async (dataDir: string): Promise<void> => {
    const second = await startServerProcess(t, { ...environment, DATA_DIR: dataDir })
    t.equal(second.child.exitCode, 1)
    const sentence = new RegExp(`^svc-gateway cannot start:\\n?.*process ${first.child.pid}, since \\d{4}-\\d\\d-\\d\\dT`)
    t.match(second.log(), sentence, 'it names the one that runs')
    t.notMatch(second.log(), /\n\s+at /, 'without a stack')
  }
  await refused(folder)
  await refused(link)
  t.equal((await runCommand(folder, 'account', 'list')).code, 0, 'a command works beside it')
  t.equal((await fetch(`${first.url}/readyz`)).status, 200)

  first.child.kill('SIGSTOP')
  await refused(folder)
  first.child.kill('SIGCONT')
  t.equal((await fetch(`${first.url}/readyz`)).status, 200, 'one that sleeps keeps its place')

  await first.terminate('SIGKILL')
  const next = await startServerProcess(t, environment)
  t.ok(next.url, 'the place is free')
  t.equal(await next.terminate('SIGTERM'), 0)
})

t.test('a command ends no turn of a server, however their clocks differ', async (t) => {
  // The machine's clock has moved forward by a day since this server started, and the server has not read it since.
  const g = await startGateway(t, {}, { clock: createClock({ now: () => Date.now() - 86_400_000 }) })
  const { token } = await g.createMember()
  const running = await g.chat(token, {
    stream: true,
    messages: [{ role: 'user', content: 'demo:{"tokens":30,"betweenMs":100}' }],
  })
  t.match(await g.listTurns(), [{ state: 'held' }])
  for (const words of [['turns'], ['ledger', 'verify']]) t.match(await runCommand(g.config.store.dataDir, ...words), { code: 0 })
  t.match(await running.text(), /\[DONE\]\n\n$/)
  t.match(await g.listTurns(), [{ state: 'settled', outputTokens: 30 }])
})

t.test('a wall clock that steps back and forth ends no turn', async (t) => {
  let stepMs = 0
  const clock = createClock({ now: () => Date.now() + stepMs })
  const g = await startGateway(t, {}, { clock })
  const { token } = await g.createMember()
  stepMs = -1_800_000
  const running = await g.chat(token, {
    stream: true,
    messages: [{ role: 'user', content: 'demo:{"tokens":10,"betweenMs":50}' }],
  })
  stepMs = 1_800_000
  t.equal(await g.services.ledger.expire(clock.now(), clock.monotonicMs()), 0)
  t.match(await running.text(), /\[DONE\]\n\n$/)
  t.match(await g.listTurns(), [{ state: 'settled', outputTokens: 10 }])
})
