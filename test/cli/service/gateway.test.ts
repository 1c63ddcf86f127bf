/** `svc` against the real gateway, so that the scripted service of the other tests cannot drift away from it. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { startGatewayProcess } from '../../support/gateway-process.ts'
import { runProgram, svc } from '../../support/run-svc.ts'

const gatewayProgram = fileURLToPath(new URL('../../../src/main.ts', import.meta.url))

t.test('svc and the real gateway understand each other', async (t) => {
  const folder = t.testdir({ data: {}, home: {} })
  const gateway = await startGatewayProcess({
    command: [process.execPath, gatewayProgram],
    dataDir: join(folder, 'data'),
  })
  t.teardown(() => gateway.stop())
  const home = join(folder, 'home')
  const options = { home, site: gateway.origin, cwd: home, env: { SVC_API_KEY: gateway.key } }
  const run = (words: string[], env: Record<string, string> = {}) => svc(words, { ...options, env: { ...options.env, ...env } })

  await t.test('models', async (t) => {
    const { code, stdout } = await run(['models', '--json'])
    t.equal(code, 0)
    const ids = JSON.parse(stdout).result.map((model: { id: string }) => model.id)
    t.ok(ids.includes('auto') && ids.includes('svc-2.1'), ids.join(' '))
    t.match((await run(['models'])).stdout, /^svc-2\.1 +Premium/m)
  })

  await t.test('plans', async (t) => {
    const { stdout } = await run(['plans'])
    for (const name of ['Free', 'Pro', 'Max']) t.match(stdout, new RegExp(`^${name} `, 'm'))
  })

  await t.test('chat, streamed and whole', async (t) => {
    const streamed = await runProgram(['chat', 'Hello there'], options)
    t.equal(streamed.code, 0, streamed.stderr)
    t.ok(streamed.stdout.trim().length > 0)
    const whole = await run(['chat', 'Hello there', '--no-stream', '-m', 'svc-2.1', '--json'])
    t.match(JSON.parse(whole.stdout), { ok: true, result: { model: 'svc-2.1', finish_reason: 'stop' } })
  })

  await t.test('failures have the Ref line of the id that was sent', async (t) => {
    const model = await run(['chat', 'x', '-m', 'gpt-4'])
    t.equal(model.code, 1)
    t.match(model.stderr, /Ref: mbr_[0-9A-Z]{26} · official_models_only · stage=validation · HTTP 400\n$/)
    const key = await run(['models'], { SVC_API_KEY: 'svc_live_nonsense' })
    t.equal(key.code, 4)
    t.match(key.stderr, /run: svc login\nRef: mbr_[0-9A-Z]{26} · sign_in_required · stage=auth · HTTP 401\n$/)
  })

  await t.test('whoami with a key', async (t) => {
    t.match((await run(['whoami'])).stdout, /The API key in SVC_API_KEY works/)
  })
})
