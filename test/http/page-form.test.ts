/** Forms of members' pages: where they may come from, that each acts once, and how a refused one is drawn again. */
import t from 'tap'
import type { Test } from 'tap'
import { formLifetimeMs } from '../../src/domain/services/form-id-service.ts'
import { startGateway } from '../support/gateway/test-gateway.ts'
import type { TestGateway } from '../support/gateway/test-gateway.ts'
import { WebsiteClient } from '../support/gateway/website-client.ts'
import { readFormFields, sendForm } from '../support/website/page-form.ts'
import { createClock } from '../../src/system/clock.ts'

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
