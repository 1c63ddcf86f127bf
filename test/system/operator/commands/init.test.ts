/** `svc-gateway init` writes a configuration and an environment file that a server starts with, and prints no secret. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import t from 'tap'
import type { Test } from 'tap'
import { startFakeUpstream } from '../../../support/upstream/server.ts'
import type { Dialogue } from '../../../../src/operator/commands/init/ask-questions.ts'
import { init } from '../../../../src/operator/commands/init/init.ts'
import { run } from '../../../../src/operator/main.ts'
import { evaluateConfig } from '../../../../src/server/reload/evaluate-config.ts'
import { startServerProcess } from '../../../support/processes/server-process.ts'
import { createTemporaryFolder } from '../../../support/temporary-folder.ts'

const upstream = await startFakeUpstream({ maxCalls: 10_000 })
t.teardown(() => upstream.close())
const secrets = ['sk-upstream-0123456', 'mail-password-0123', 'sk-next-0123456']

function setUp(t: Test) {
  const folder = createTemporaryFolder(t)
  const files = { config: join(folder, 'gateway.config.mjs'), environment: join(folder, 'gateway.env') }
  const keyFile = join(folder, 'key')
  writeFileSync(keyFile, `${secrets[0]}\n`)
  return {
    folder,
    files,
    keyFile,
    readEnvironment: () => parseEnv(readFileSync(files.environment, 'utf8')),
    evaluate: () => evaluateConfig({ ...parseEnv(readFileSync(files.environment, 'utf8')) }).then(({ values }) => values),
    initialize: async (...words: string[]) => {
      const outcome = await run(['init', '--folder', folder, ...words])
      for (const secret of secrets) t.notMatch(outcome.stdout + outcome.stderr, secret)
      return outcome
    },
  }
}

t.test('with answers as options it writes both files, which a server starts with', async (t) => {
  const { keyFile, files, folder, initialize, evaluate } = setUp(t)
  const upstreamAnswers = ['--upstream-url', upstream.url, '--upstream-key-file', keyFile]
  const modelAnswers = ['--light-model', 'demo-light', '--flagship-model', 'demo-flagship']
  const { code, stdout } = await initialize(...upstreamAnswers, ...modelAnswers, '--currency', 'eur', '--plans', 'pro=12.5')
  t.equal(code, 0, stdout)
  t.match(stdout, '+UPSTREAM_API_KEY=…')
  t.match(stdout, 'ok  chat main/demo-flagship')
  t.match(stdout, `Next: node --env-file=${files.environment}`)
  t.equal(statSync(files.environment).mode & 0o777, 0o600)
  t.match(readFileSync(files.config, 'utf8'), "import base from 'svc-gateway/gateway.config.js'")
  const values = await evaluate()
  t.match(values, {
    upstreams: { main: { baseUrl: upstream.url, apiKey: secrets[0] } },
    products: { svc: { targets: [{ model: 'demo-flagship' }] }, auto: { targets: [{ model: 'demo-light' }] } },
    store: { dataDir: join(folder, 'data') },
  })
  t.same(
    Object.values(values.plans).map(({ id, prices: [price] }) => [id, price?.amount, price?.currency]),
    [
      ['free', 0, 'EUR'],
      ['pro', 12.5, 'EUR'],
    ],
  )
  const server = await startServerProcess(t, { ...(parseEnv(readFileSync(files.environment, 'utf8')) as Record<string, string>) })
  t.equal((await fetch(`${server.url}/readyz`)).status, 200)
})

t.test('beside a service it writes the settings that the unit reads, and leaves the data folder to the unit', async (t) => {
  const { folder, files, keyFile, readEnvironment } = setUp(t)
  const unit = readFileSync(join(import.meta.dirname, '../../../../deploy/systemd/svc-gateway.service'), 'utf8')
  t.match(unit, '\nEnvironmentFile=/etc/svc-gateway/gateway.env\n')
  const example = readFileSync(join(import.meta.dirname, '../../../../deploy/systemd/gateway.env.example'), 'utf8')
  writeFileSync(files.environment, example, { mode: 0o600 })
  const answers = {
    upstreamUrl: upstream.url,
    upstreamKeyFile: keyFile,
    lightModel: 'demo-light',
    flagshipModel: 'demo-flagship',
  }
  const { ok, text } = await init({ json: false, ...answers }, null, folder)
  t.ok(ok, text)
  t.match(text, 'Next: systemctl restart svc-gateway svc-gateway-backup.timer && svc-gateway doctor')
  t.match(readEnvironment(), {
    GATEWAY_CONFIG: files.config,
    UPSTREAM_MODEL_LIGHT: 'demo-light',
    SITE_URL: 'https://models.example.com',
    TRUSTED_PROXIES: '127.0.0.1',
  })
  t.notOk('DATA_DIR' in readEnvironment())
  t.equal(statSync(files.environment).mode & 0o777, 0o600)
  t.equal(statSync(files.config).mode & 0o777, 0o644, 'the user of the service reads it')
})

t.test('run again, it changes what is given, shows the difference and leaves the rest', async (t) => {
  const { keyFile, files, initialize, readEnvironment, evaluate } = setUp(t)
  await initialize('--upstream-url', upstream.url, '--upstream-key-file', keyFile, '--flagship-model', 'demo-flagship')
  const own = readFileSync(files.config, 'utf8').replace('  ...base,\n', "  ...base,\n  timeZone: 'Asia/Shanghai',\n")
  writeFileSync(files.config, own)
  writeFileSync(files.environment, `${readFileSync(files.environment, 'utf8')}# mine\nPORT=9000\n`)
  const before = readEnvironment()

  const same = await initialize('--currency', 'USD')
  t.match(same.stdout, 'Nothing has changed.')
  t.equal(readFileSync(files.config, 'utf8'), own)

  writeFileSync(keyFile, `${secrets[2]}\n`)
  const changed = await initialize('--upstream-key-file', keyFile, '--currency', 'CNY', '--flagship-model', '-')
  t.match(changed.stdout, '-UPSTREAM_API_KEY=… (earlier)')
  t.match(changed.stdout, '+UPSTREAM_API_KEY=… (new)')
  t.match(changed.stdout, '-UPSTREAM_MODEL_FLAGSHIP=demo-flagship')
  t.match(changed.stdout, '-  "currency": "USD"')
  t.match(changed.stdout, '+  "currency": "CNY"')
  const { UPSTREAM_MODEL_FLAGSHIP: _removed, ...kept } = before
  t.same(readEnvironment(), { ...kept, UPSTREAM_API_KEY: secrets[2] })
  t.match(readFileSync(files.environment, 'utf8'), '# mine')
  t.equal(statSync(files.environment).mode & 0o777, 0o600)
  t.match(await evaluate(), {
    timeZone: 'Asia/Shanghai',
    listen: { port: 9000 },
    plans: { pro: { prices: [{ currency: 'CNY' }] } },
  })
})

t.test('an address for incidents is an option, which the configuration takes for a receiver', async (t) => {
  const { initialize, readEnvironment, evaluate } = setUp(t)
  t.equal((await initialize('--notify-mail', 'ann@example.com')).code, 0)
  t.equal(readEnvironment()['NOTIFY_EMAIL'], 'ann@example.com')
  t.match(await evaluate(), { notifications: { people: { operator: { kind: 'mail', to: 'ann@example.com', events: 'all' } } } })
  await initialize('--currency', 'EUR')
  t.equal(readEnvironment()['NOTIFY_EMAIL'], 'ann@example.com', 'it stays')
  await initialize('--notify-mail', '-')
  t.notOk('NOTIFY_EMAIL' in readEnvironment())
  t.same((await evaluate()).notifications.people, {})
  const { code, stderr } = await initialize('--notify-mail', 'ann')
  t.equal(code, 1)
  t.match(stderr, 'notifications.people.operator.to must be one email address')
})

t.test('answers that cannot work write nothing, and are named', async (t) => {
  const { folder, files, keyFile, initialize } = setUp(t)
  const cases: readonly [name: string, words: readonly string[], message: RegExp][] = [
    ['an address with a path', ['--site-url', 'https://example.com/chat'], /listen\.siteUrl must be an origin/],
    ['an unknown plan', ['--plans', 'gold=9'], /'gold=9' is no plan/],
    ['a price with three places', ['--plans', 'pro=9.999'], /'pro=9.999' is no plan/],
    ['a plan that is named twice', ['--plans', 'pro=9,pro=10'], /The plan pro is named twice/],
    ['a currency that is none', ['--currency', 'euro'], /is no currency code/],
    ['three letters that are no currency', ['--currency', 'ERU'], /is no currency code/],
    ['half a provider', ['--issuer', 'https://id.example.com'], /needs --issuer, --provider-name and --client-id/],
    ['a key file that is not there', ['--upstream-key-file', join(folder, 'none')], /none cannot be read/],
    ['a value that environment files do not keep', ['--mail-from', '"A" <a@example.com>'], /MAIL_FROM has a character/],
  ]
  for (const [name, words, message] of cases) {
    const { code, stderr } = await initialize(...words)
    t.equal(code, 1, name)
    t.match(stderr, message, name)
  }
  writeFileSync(keyFile, 'sk-with "quotes"')
  t.match((await initialize('--upstream-key-file', keyFile)).stderr, /UPSTREAM_API_KEY_FILE/)
  t.notOk(existsSync(files.config) || existsSync(files.environment))
  writeFileSync(files.config, 'export default {}\n')
  t.match((await initialize('--currency', 'EUR')).stderr, /not one of svc-gateway init/)
  t.equal(readFileSync(files.config, 'utf8'), 'export default {}\n')
})

t.test('a folder that cannot be created is refused in one line', { skip: process.platform !== 'linux' }, async (t) => {
  for (const folder of ['/proc/svc-none', '/proc/svc-none/below']) {
    const { code, stderr } = await run(['init', '--folder', folder, '--currency', 'EUR'])
    t.equal(code, 1)
    t.match(stderr, new RegExp(`^The folder ${folder} cannot be created: [^\\n]*\\n$`))
  }
})

t.test('an upstream that cannot be reached is named, and the exit code says so', async (t) => {
  const { initialize } = setUp(t)
  const { code, stdout } = await initialize('--upstream-url', 'http://127.0.0.1:9/v1')
  t.equal(code, 1)
  t.match(stdout, '!!  upstream main: http://127.0.0.1:9 cannot be reached')
})

/** Answers each question whose text matches, in order. */
function scriptDialogue(t: Test, script: readonly (readonly [question: RegExp, answer: string])[]) {
  let printed = ''
  const rest = [...script]
  const dialogue: Dialogue & { close(): void } = {
    print: (text) => void (printed += text),
    async ask(question, { isSecret = false } = {}) {
      const [expected, answer] = rest.shift() ?? [/no further question/, '']
      t.match(question, expected)
      t.equal(isSecret, /key|smtp|secret/i.test(question), question)
      printed += question
      return answer
    },
    close: () => t.same(rest, []),
  }
  return { open: async () => dialogue, printed: () => printed }
}

t.test('without options it asks six questions, and again until the upstream answers', async (t) => {
  const { folder, files, readEnvironment } = setUp(t)
  const first = scriptDialogue(t, [
    [/website/, 'https://ai.example.com'],
    [/Base URL/, 'http://127.0.0.1:9/v1'],
    [/Its key/, secrets[0]!],
    [/all the same/, ''],
    [/Base URL.*127\.0\.0\.1:9/, upstream.url],
    [/Its key \[unchanged\]/, ''],
    [/smtp/, ''],
    [/light, by number/, '1'],
    [/flagship, by number/, 'demo-flagship'],
    [/Currency \[USD\]/, 'eur'],
    [/Plans.*pro=9,max=19/, 'pro=10'],
    [/Issuer/, ''],
    [/Write this/, 'y'],
  ])
  const result = await init({ folder, json: false }, first.open)
  t.ok(result.ok, result.text)
  t.match(first.printed(), '127.0.0.1:9 cannot be reached')
  t.match(first.printed(), '  1  demo-')
  t.notMatch(first.printed() + result.text, secrets[0]!)
  t.match(readEnvironment(), {
    SITE_URL: 'https://ai.example.com',
    UPSTREAM_API_KEY: secrets[0],
    UPSTREAM_BASE_URL: upstream.url,
  })

  const before = [readFileSync(files.config, 'utf8'), readFileSync(files.environment, 'utf8')]
  const second = scriptDialogue(t, [
    [/website.*ai\.example\.com/, '-'],
    [/Base URL/, '-'],
    [/smtp/, ''],
    [/Currency \[EUR\]/, ''],
    [/Plans.*pro=10/, ''],
    [/Issuer/, ''],
    [/Write this/, 'n'],
  ])
  const refused = await init({ folder, json: false }, second.open)
  t.match(refused, { ok: false, text: 'Nothing was written.\n' })
  t.match(second.printed(), '-SITE_URL=https://ai.example.com')
  t.same([readFileSync(files.config, 'utf8'), readFileSync(files.environment, 'utf8')], before)
  await t.rejects(init({ folder, json: false }, null), /no terminal to ask on/)
})

t.test('a question whose answer cannot work says why and is asked again; what was typed before is kept', async (t) => {
  const { folder, files, readEnvironment, evaluate } = setUp(t)
  const script = scriptDialogue(t, [
    [/website/, 'ai.example.com'],
    [/website/, 'https://ai.example.com/chat'],
    [/website/, 'https://ai.example.com'],
    [/Base URL/, 'not an address'],
    [/Base URL/, upstream.url],
    [/Its key/, 'sk-with "quotes"'],
    [/Its key/, secrets[0]!],
    [/smtp/, 'https://mail.example.com'],
    [/smtp/, ''],
    [/light, by number/, '99'],
    [/light, by number/, '0'],
    [/light, by number/, '1'],
    [/flagship, by number/, 'demo-flagship'],
    [/Currency \[USD\]/, 'euro'],
    [/Currency \[USD\]/, 'eur'],
    [/Plans/, 'pro=abc'],
    [/Plans/, 'pro=9,pro=10'],
    [/Plans/, 'pro=10'],
    [/Issuer/, 'id.example.com'],
    [/Issuer/, 'https://127.0.0.1:9'],
    [/Name on/, ''],
    [/Name on/, 'Example'],
    [/Client id/, '-'],
    [/Client id/, 'svc'],
    [/Client secret/, 'client-secret-0123'],
    [/Write this/, 'y'],
  ])
  const { text } = await init({ folder, json: false }, script.open)
  t.match(text, `Written: ${files.config}`)
  const printed = script.printed()
  for (const reason of [
    'listen.siteUrl must be an origin',
    'UPSTREAM_API_KEY has a character',
    'is not in the list: write a number from 1 to',
    'is no currency code',
    "'pro=abc' is no plan",
    'The plan pro is named twice',
    'needs a name and a client id',
  ])
    t.ok(printed.includes(reason), reason)
  t.notMatch(printed + text, /sk-|client-secret-0123/)
  t.match(readEnvironment(), { SITE_URL: 'https://ai.example.com', UPSTREAM_API_KEY: secrets[0] })
  t.match(readEnvironment()['UPSTREAM_MODEL_LIGHT'], /^demo-/)
  t.match(await evaluate(), { plans: { pro: { prices: [{ amount: 10, currency: 'EUR' }] } } })
})
