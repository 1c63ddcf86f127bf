/** Forms of members' pages: where they may come from, that each acts once, and how a refused one is drawn again. */
import t from 'tap'
import type { Test } from 'tap'
import { formLifetimeMs } from '../../../src/domain/services/form-id-service.ts'
import { hashPassword } from '../../../src/domain/identity/passwords/password.ts'
import { startGateway } from '../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../support/gateway/test-gateway.ts'
import { WebsiteClient, readEmailsTo, waitForEmailCode } from '../../support/gateway/website-client.ts'
import { readFormFields, sendForm } from '../../support/website/page-form.ts'
import { createClock } from '../../../src/system/clock.ts'

interface Visit {
  readonly gateway: TestGateway
  readonly browser: WebsiteClient
  readonly url: string
  readonly listKeys: () => Promise<readonly { readonly id: string; readonly name: string }[]>
}

async function openKeys(t: Test, options: Parameters<typeof startGateway>[2] = {}): Promise<Visit> {
  const gateway = await startGateway(t, {}, options)
  const browser = new WebsiteClient(gateway)
  await browser.signIn('mei@example.com')
  const { id } = (await gateway.services.store.accounts.find('mei@example.com')) ?? { id: '' }
  return { gateway, browser, url: `${gateway.url}/keys`, listKeys: () => gateway.services.store.apiKeys.list(id) }
}

/** For forms that wait for a session in vain. */
function endWaitsAtOnce(t: Test, { services: { clock } }: TestGateway): void {
  const wait = clock.wait.bind(clock)
  clock.wait = () => new Promise((resolve) => void setImmediate(resolve))
  t.teardown(() => void (clock.wait = wait))
}

t.test('accepts a form only from a page of the site itself', async (t) => {
  const { gateway, browser, url, listKeys } = await openKeys(t)
  const { origin } = new URL(url)
  const bare = new WebsiteClient(gateway, {})
  for (const [name, value] of browser.cookies) bare.cookies.set(name, value)
  const fields = readFormFields((await browser.get(url)).body, { action: 'create' })
  for (const headers of [
    {},
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'none' },
    { 'sec-fetch-site': 'cross-site', origin },
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { referer: url },
  ] as const) {
    const answer = await sendForm(bare, url, fields, { name: 'foreign' }, headers)
    t.equal(answer.status, 403, JSON.stringify(headers))
    t.match(answer.body, 'This request came from a page that is not allowed.')
    t.notMatch(answer.body, 'Nothing was sent')
  }
  t.same(await listKeys(), [])
  t.equal((await sendForm(bare, url, fields, { name: 'by origin' }, { origin })).status, 200)
  t.equal((await listKeys()).length, 1)
})

t.test('shows a new key in the answer to its form alone, and makes no second one for a repeat', async (t) => {
  const { browser, url, listKeys } = await openKeys(t)
  const fields = readFormFields((await browser.get(url)).body, { action: 'create' })
  const answers = await Promise.all([1, 2].map(() => sendForm(browser, url, fields, { name: 'laptop' })))
  answers.push(await sendForm(browser, url, fields, { name: 'another name' }))
  for (const { status, headers } of answers) {
    t.equal(status, 200)
    t.match(headers.get('cache-control'), 'no-store')
  }
  const shown = answers.filter(({ body }) => /svc_live_[0-9A-Za-z]{38}/.test(body))
  t.equal(shown.length, 1, 'one answer has the key')
  const repeats = answers.filter((answer) => !shown.includes(answer))
  for (const { body } of repeats) t.match(body, 'This key was created before, and no second one was made.')
  t.equal((await listKeys()).length, 1)
  t.notMatch((await browser.get(url)).body, /svc_live_[0-9A-Za-z]{38}/)
})

t.test('redirects after a change, so that Back and Reload send nothing again', async (t) => {
  const { browser, url, listKeys } = await openKeys(t)
  await sendForm(browser, url, readFormFields((await browser.get(url)).body, { action: 'create' }), { name: 'laptop' })
  const [{ id: subject } = { id: '' }] = await listKeys()
  const fields = readFormFields((await browser.get(url)).body, { action: 'rename', subject })
  const renamed = await sendForm(browser, url, fields, { name: '  old laptop ' })
  t.equal(renamed.status, 303)
  t.equal(renamed.headers.get('location'), '/keys?done=renamed')
  t.match((await browser.get(`${url}?done=renamed`)).body, 'The key has its new name.')
  t.match(await listKeys(), [{ name: 'old laptop' }])
  const again = await sendForm(browser, url, fields, { name: 'third name' })
  t.equal(again.status, 200)
  t.match(again.body, 'This form was received before and has acted once.')
  t.match(await listKeys(), [{ name: 'old laptop' }])
  t.notMatch((await browser.get(`${url}?done=toString`)).body, 'role="status"', 'a link chooses among the sentences of the page')
})

t.test(
  'draws a refused form again with what was typed, its fault in words at the field, and accepts the correction',
  async (t) => {
    const { browser, url, listKeys } = await openKeys(t)
    const typed = { name: '"><script>'.padEnd(65, 'x'), expires_in_days: '90' }
    for (const [language, words] of [
      ['en', 'At most 64 characters.'],
      ['zh', '最多 64 个字符。'],
    ] as const) {
      const fields = readFormFields((await browser.get(url, { 'accept-language': language })).body, { action: 'create' })
      const refused = await sendForm(browser, url, fields, typed, { 'accept-language': language })
      t.equal(refused.status, 400)
      t.match(refused.body, `<p class="field-error" id="create-name-error" role="alert">${words}</p>`)
      t.match(refused.body, /id="create-name"[^>]* value="&quot;&gt;&lt;script&gt;x+"[^>]* aria-describedby="create-name-error"/)
      t.match(refused.body, /<option value="90" selected>/)
      t.equal((await sendForm(browser, url, fields, { name: ' ' })).status, 400)
    }
    t.same(await listKeys(), [])
    const refused = await sendForm(browser, url, readFormFields((await browser.get(url)).body, { action: 'create' }), {
      name: '',
    })
    t.match(refused.body, 'Fill in this field.')
    t.equal((await sendForm(browser, url, readFormFields(refused.body, { action: 'create' }), { name: 'laptop' })).status, 200)
    t.equal((await listKeys()).length, 1)
  },
)

t.test('refuses the id of another account, a made up one and one that is too old, and keeps what was typed', async (t) => {
  let nowMs = Date.now()
  const { gateway, browser, url, listKeys } = await openKeys(t, {
    clock: createClock({ now: () => nowMs }),
  })
  const fields = readFormFields((await browser.get(url)).body, { action: 'create' })
  const stranger = new WebsiteClient(gateway)
  await stranger.signIn('lee@example.com')
  const foreign = readFormFields((await stranger.get(url)).body, { action: 'create' })
  const forged = new URLSearchParams(fields)
  forged.set('form', `${fields.get('form')?.slice(0, -1)}${fields.get('form')?.endsWith('A') === true ? 'B' : 'A'}`)
  const check = async (form: URLSearchParams): Promise<void> => {
    const answer = await sendForm(browser, url, form, { name: 'kept name' })
    t.equal(answer.status, 400)
    t.match(answer.body, 'Nothing was changed; send the form again.')
    t.match(answer.body, 'value="kept name"')
  }
  for (const form of [foreign, forged, new URLSearchParams({ action: 'create' })]) await check(form)
  nowMs += formLifetimeMs
  await check(fields)
  t.same(await listKeys(), [])
})

t.test('bounds the forms of an account and their length, and answers an unknown form and JSON', async (t) => {
  const { gateway, browser, url, listKeys } = await openKeys(t)
  const page: string = (await browser.get(url)).body
  const fields = readFormFields(page, { action: 'create' })
  t.equal((await sendForm(browser, url, fields, { name: 'x'.repeat(17_000) })).status, 413)
  t.equal((await sendForm(browser, url, fields, { action: 'toString' })).status, 400)
  t.equal((await browser.post(url, { name: 'json' })).status, 415)
  const { membership, clock } = gateway.services
  const { id } = (await gateway.services.store.accounts.find('mei@example.com')) ?? { id: '' }
  for (let sent = 0; sent < 300; sent++) await membership.attemptLimits.consume('form-by-account', id, clock.now())
  const limited = await sendForm(browser, url, fields, { name: 'one more' })
  t.equal(limited.status, 429)
  t.match(limited.body, 'value="one more"')
  t.same(await listKeys(), [])
})

t.test('sends a visitor whose session has ended to sign in, without acting', async (t) => {
  const { gateway, browser, url } = await openKeys(t)
  const fields = readFormFields((await browser.get(url)).body, { action: 'create' })
  const answer = await sendForm(new WebsiteClient(gateway), url, fields, { name: 'laptop' })
  t.equal(answer.status, 303)
  t.equal(answer.headers.get('location'), '/sign-in?next=%2Fkeys')
})

t.test('does not act again after a fault of ours, because it may have acted', async (t) => {
  const { gateway, browser, url, listKeys } = await openKeys(t)
  const fields = readFormFields((await browser.get(url)).body, { action: 'create' })
  const { apiKeys } = gateway.services.membership
  const create = apiKeys.create.bind(apiKeys)
  apiKeys.create = async (...sent) => {
    await create(...sent)
    throw new Error('the answer of the database was lost')
  }
  t.equal((await sendForm(browser, url, fields, { name: 'laptop' })).status, 500)
  apiKeys.create = create
  t.match((await sendForm(browser, url, fields, { name: 'laptop' })).body, 'This key was created before')
  t.equal((await listKeys()).length, 1)
})

t.test('receives visitors’ forms with the same checks, and answers a repeat as the first', async (t) => {
  const gateway = await startGateway(t)
  const url = `${gateway.url}/sign-in`
  const browser = new WebsiteClient(gateway)
  const fields = readFormFields((await browser.get(url)).body, { action: 'code' })
  const typed = { email: 'mei@example.com' }
  for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'none' }] as const)
    t.equal((await sendForm(browser, url, fields, typed, headers)).status, 403)
  const member = new WebsiteClient(gateway)
  await member.signIn('lee@example.com')
  const foreign = readFormFields((await member.get(`${gateway.url}/keys`)).body, { action: 'create' }).get('form') ?? ''
  for (const form of ['', 'made-up', foreign])
    t.match((await sendForm(browser, url, fields, { ...typed, form })).body, /send the form again[^]*|value="mei@example.com"/)
  t.same(readEmailsTo(gateway, 'mei@example.com'), [])

  // Of a double click the browser drops the first answer, and with it the cookies.
  const first = new WebsiteClient(gateway)
  t.equal((await sendForm(first, url, fields, typed)).status, 303)
  t.equal((await sendForm(browser, url, fields, typed)).status, 303)
  const bound = ({ cookies }: WebsiteClient) => [...cookies].filter(([name]) => name.endsWith('_browser'))
  t.same(bound(browser), bound(first), 'the code is bound to the browser by the repeat too')
  const code = await waitForEmailCode(gateway, 'mei@example.com')
  t.equal(readEmailsTo(gateway, 'mei@example.com').length, 1)
  const page = (await browser.get(url)).body
  const verify = readFormFields(page, { action: 'verify', subject: 'mei@example.com' })
  for (const [name, value] of browser.cookies) first.cookies.set(name, value)
  const answers = await Promise.all([first, browser, first].map((each) => sendForm(each, url, verify, { code })))
  for (const { status, headers } of answers) t.same([status, headers.get('location')], [303, '/account'])
  const { cookie } = gateway.services.names
  t.equal(first.cookies.get(cookie), browser.cookies.get(cookie), 'both opened one session')
  const { id = '' } = (await gateway.services.store.accounts.find('mei@example.com')) ?? {}
  t.equal((await gateway.services.store.sessions.list(id)).length, 1)
  endWaitsAtOnce(t, gateway)
  t.equal((await sendForm(new WebsiteClient(gateway), url, verify, { code })).status, 401, 'not in another browser')
  await gateway.services.membership.sessions.endByToken(browser.cookies.get(cookie) ?? '')
  browser.cookies.delete(cookie)
  t.equal((await sendForm(browser, url, verify, { code })).status, 401, 'not after the session has ended')
})

t.test('answers an address without an account as one with an account, and counts wrong codes', async (t) => {
  const gateway = await startGateway(t, { signIn: { signUp: 'closed' } })
  const url = `${gateway.url}/sign-in`
  const { store, ids, clock } = gateway.services
  const at = clock.now()
  const account = { id: ids.next('acc_', at), plan: 'free', passwordHash: null, emailVerified: true, at }
  await store.accounts.create({ ...account, email: 'mei@example.com' })
  const pages = []
  for (const email of ['mei@example.com', 'new@example.com']) {
    const browser = new WebsiteClient(gateway)
    const sent = await sendForm(browser, url, readFormFields((await browser.get(url)).body, { action: 'code' }), { email })
    t.equal(sent.status, 303)
    const verify = readFormFields((await browser.get(url)).body, { action: 'verify', subject: email })
    const refusals = []
    for (let tries = 0; tries < 6; tries++) refusals.push(await sendForm(browser, url, verify, { code: '000000' }))
    const hide = (page: string): string => page.replaceAll(email, '').replaceAll(/value="[\w.-]{30,}"|data-wait="\d+"/g, '')
    pages.push(refusals.map(({ status, body }) => [status, hide(body)]))
  }
  t.same(pages[0], pages[1])
  t.same(readEmailsTo(gateway, 'new@example.com'), [])
})

t.test('opens one session for a password that is sent twice at once', async (t) => {
  const gateway = await startGateway(t)
  const url = `${gateway.url}/sign-in?way=password`
  const { store, ids, clock } = gateway.services
  const at = clock.now()
  const password = 'violet teapot orbit'
  const account = { id: ids.next('acc_', at), email: 'mei@example.com', plan: 'free', emailVerified: true, at }
  await store.accounts.create({ ...account, passwordHash: await hashPassword(password) })
  const fields = readFormFields((await new WebsiteClient(gateway).get(url)).body, { action: 'password' })
  const browsers = [1, 2].map(() => new WebsiteClient(gateway))
  const typed = { email: 'mei@example.com', password }
  const answers = await Promise.all(browsers.map((browser) => sendForm(browser, url, fields, typed)))
  t.same(
    answers.map(({ status }) => status),
    [303, 303],
  )
  t.equal((await store.sessions.list(account.id)).length, 1)
  endWaitsAtOnce(t, gateway)
  t.match(await sendForm(new WebsiteClient(gateway), url, fields, { ...typed, password: 'another password' }), { status: 401 })
})
