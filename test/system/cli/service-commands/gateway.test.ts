/** `svc` against the real gateway, so that the scripted service of the other tests cannot diverge from it. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { startGatewayProcess } from '../../../support/processes/gateway-process.ts'
import { WebsiteClient } from '../../../support/gateway/website-client.ts'
import { runSvcProcess, runSvc } from '../../../support/cli/run-svc.ts'

const gatewayProgram = fileURLToPath(new URL('../../../../src/operator/start.ts', import.meta.url))

t.test('svc works with the real gateway', async (t) => {
  const folder = t.testdir({ data: {}, home: {} })
  const gateway = await startGatewayProcess({
    command: [process.execPath, gatewayProgram],
    dataDir: join(folder, 'data'),
  })
  t.teardown(() => gateway.stop())
  const home = join(folder, 'home')
  const options = { home, site: gateway.origin, cwd: home, env: { SVC_API_KEY: gateway.key } }
  const run = (words: string[], env: Record<string, string> = {}) =>
    runSvc(words, { ...options, env: { ...options.env, ...env } })

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
    t.match(stdout, /^Free .* ≈ 95 \/ 380 \/ 950 +≈ 9 \/ 36 \/ 91 /m, 'messages as on the website')
  })

  await t.test('chat, streamed and whole', async (t) => {
    const streamed = await runSvcProcess(['chat', 'Hello there'], options)
    t.equal(streamed.code, 0, streamed.stderr)
    t.ok(streamed.stdout.trim().length > 0)
    const whole = await run(['chat', 'Hello there', '--no-stream', '-m', 'svc-2.1', '--json'])
    t.match(JSON.parse(whole.stdout), { ok: true, result: { model: 'svc-2.1', finish_reason: 'stop' } })
  })

  await t.test('a failure prints the Ref line with the id that was sent', async (t) => {
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

  await t.test('usage and boost name the account of a session, and boost refuses beside a key', async (t) => {
    const member = new WebsiteClient({ url: gateway.origin, config: { store: { dataDir: join(folder, 'data') } } })
    await member.signIn('member@example.org')
    const device = (await member.post('auth/device/start', { client: 'svc-cli', client_version: '1', hostname: 'test' })).body
    await member.post('auth/device/lookup', { user_code: device.user_code })
    await member.post('auth/device/approve', { user_code: device.user_code })
    const token: string = (await member.post('auth/device/poll', { device_code: device.device_code })).body.sessionToken
    const session = { SVC_API_KEY: '', SVC_TOKEN: token }
    const account = /^Account: m\S+@example\.org \(session from SVC_TOKEN\)$/m
    t.match((await run(['usage'], session)).stdout, account)
    t.match((await run(['boost', 'checkin'], session)).stdout, account)
    t.match((await run(['boost'], session)).stdout, account)
    t.match((await run(['alerts'], session)).stdout, /usage: off\./)
    t.match((await run(['alerts', 'on'], session)).stdout, /usage: on\.[^]*Account: m/)
    t.same((await member.get('usage-alerts')).body, { enabled: true })
    const asked = JSON.parse((await run(['alerts', '--json'], session)).stdout)
    t.match(asked, { ok: true, result: { enabled: true, account: { email_masked: /@example\.org$/ } } })
    t.match((await run(['alerts', 'off'], session)).stdout, /usage: off\./)
    t.same((await member.get('usage-alerts')).body, { enabled: false })
    t.equal((await run(['alerts', 'perhaps'], session)).code, 2)
    const answer = JSON.parse((await run(['chat', '--json', '--no-stream', 'hi'])).stdout).result
    const keyed = await run(['usage', '--request', answer.request_id])
    t.match(keyed.stdout, new RegExp(`^${answer.request_id}: ${answer.charge.credits} credits\\n`))
    t.match((await run(['usage'])).stdout, /^Account of the key in SVC_API_KEY\nPlan: /)
    for (const words of [['usage', '--turns'], ['alerts'], ['alerts', 'on'], ['boost'], ['boost', 'checkin']]) {
      const { code, stdout, stderr } = await run(words, { SVC_TOKEN: token })
      t.strictSame([code, stdout], [4, ''], words.join(' '))
      t.match(stderr, 'SVC_API_KEY is set')
    }
  })
})
