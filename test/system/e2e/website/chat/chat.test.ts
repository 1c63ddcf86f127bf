import { readFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import t from 'tap'
import type { Test } from 'tap'
import { findAccessibilityViolations, openChromium, openBrowserSession } from '../../../../support/website/chromium.ts'
import { findFaultsAtWidths, startLoadMeter } from '../../../../support/website/page-checks.ts'
import { startGateway, waitUntil } from '../../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../../support/gateway/test-gateway.ts'
import { openSignedIn, signInByCode, pressSignOut } from '../../../../support/website/sign-in.ts'
import { readEmailsTo } from '../../../../support/gateway/website-client.ts'

/** A block of code and a table that is wider than a phone. */
const exampleBlocks = `\`\`\`js
const sum = (a, b) => a + b
\`\`\`

| Store | Writes a second | Reads a second | Keeps | Remarks |
|---|--:|--:|---|---|
| SQLite | 50,000 | 400,000 | years | one file |

`

/** All that this browser stores of conversations, as text. */
const storedScript = `(async () => {
  const stored = [JSON.stringify(localStorage)]
  for (const { name } of await indexedDB.databases()) {
    const database = await new Promise((resolve) => (indexedDB.open(name).onsuccess = ({ target }) => resolve(target.result)))
    for (const store of database.objectStoreNames)
      stored.push(
        JSON.stringify(
          await new Promise((resolve) => (database.transaction(store).objectStore(store).getAll().onsuccess = ({ target }) => resolve(target.result))),
        ),
      )
    database.close()
  }
  return stored.join()
})()`

/** Stores damaged conversations, damaged messages of the good one, and damaged notes of a page that was left. */
const damageScript = `(async () => {
  const [{ name }] = await indexedDB.databases()
  const account = name.slice('conversations:'.length)
  const database = await new Promise((resolve) => (indexedDB.open(name).onsuccess = ({ target }) => resolve(target.result)))
  const transaction = database.transaction(['conversations', 'messages'], 'readwrite')
  const [conversations, messages] = ['conversations', 'messages'].map((store) => transaction.objectStore(store))
  const ended = new Promise((resolve) => (transaction.oncomplete = resolve))
  const [good] = await new Promise((resolve) => (conversations.getAll().onsuccess = ({ target }) => resolve(target.result)))
  conversations.put({ id: 'bare' })
  conversations.put({ id: 'wrong', title: 7, named: 'no', updatedAt: 'soon', system: [], temperature: 'warm' })
  conversations.put({ id: 'late', title: null, updatedAt: 1e300, system: null })
  const answer = { conversation: good.id, role: 'assistant', place: Date.now() + 1e6 }
  messages.put({ id: 'm1', conversation: good.id })
  messages.put({ ...answer, id: 'm2', content: null })
  messages.put({ ...answer, id: 'm3', role: 'poet', content: 'x' })
  messages.put({ ...answer, id: 'm4', content: 'kept', images: 'all', usage: 'none', credits: {}, reasoning: 5, cut: 'x', model: [] })
  messages.put({ ...answer, id: 'm5', content: 'kept', unfinished: { status: 500, envelope: { ok: false, code: 'x' }, resetsAt: 1e300 } })
  await ended
  database.close()
  const kept = ['not JSON', 'null', '[]', '{}', '{"conversations":[null],"messages":{"a":1},"removed":[{}]}']
  kept.forEach((text, index) => localStorage.setItem('left:' + account + ':' + index, text))
})()`

const browser = await openChromium(t)
if (browser !== undefined) runJourneys(browser, await startGateway(t, { defaultPlan: 'max' }))

function runJourneys(browser: Browser, gateway: TestGateway): void {
  /** A member with the chat open in a browser of their own; the upstream gives its default answers. */
  const chatting = async (t: Test, email: string) => {
    gateway.demo.script(() => undefined)
    const chatter = await openBrowserSession(browser, gateway.url)
    t.teardown(() => chatter.context.close())
    await openSignedIn(chatter.page, gateway, email, '/chat')
    return chatter
  }

  t.test('renders an answer as Markdown while it streams, and counts it', async (t) => {
    const chatter = await chatting(t, 'mei@example.com')
    const { page, problems } = chatter
    await page.getByRole('heading', { name: 'What shall we work on?' }).waitFor()
    await page.locator('[data-picker] summary').click()
    const offered = await page.locator('.picker-item').allTextContents()
    t.equal(offered.length, gateway.services.products.all.length, 'the models of the plan')
    t.match(
      offered.map((text) => text.replaceAll(/\s+/g, ' ').trim())[0],
      /^Auto Fast Quick everyday questions .* 128K context · \$0\.042 in, \$0\.084 out/,
    )
    await page.keyboard.press('Escape')
    await page.locator('[data-picker] summary').click()
    await page.locator('.picker-item :checked:focus').waitFor()
    await page.keyboard.press('Tab')
    await page.locator('.picker-panel').waitFor({ state: 'hidden' })

    // Slow enough that a part of the answer is visible before the rest is written.
    gateway.demo.script(() => ({
      text: '# Title\n\nSome **bold** words, and `code`.\n\n- one\n- two\n\n' + exampleBlocks + 'word '.repeat(60),
      betweenMs: 15,
    }))
    await sendMessage(page, 'Write something')
    await page.getByRole('button', { name: 'Stop' }).waitFor()
    await page.locator('.theirs strong', { hasText: 'bold' }).waitFor()
    t.ok(await page.getByRole('button', { name: 'Stop' }).isVisible(), 'the first words are shown while the rest is written')
    await page.getByText(/tokens in, \d+ out/).waitFor()
    t.equal(await page.locator('.theirs li').count(), 2)
    t.equal(await page.locator('.theirs h3').textContent(), 'Title')
    t.equal(await page.getByRole('status').first().textContent(), 'The answer is complete.', 'and a screen reader is told')

    const meter = await startLoadMeter(chatter)
    await meter.open(page.url())
    await page.locator('.theirs .code-keyword').first().waitFor()
    t.equal(await page.locator('.mine').count(), 1, 'the conversation is kept over a reload')
    t.ok(meter.bytes > 60_000 && meter.bytes <= 90_000, `the page weighs ${meter.bytes} bytes, with the colours of code`)
    t.ok((await meter.readShift()) <= 0.05, 'and stays where it is')
    t.same(await findAccessibilityViolations(page), [])
    t.same(await findFaultsAtWidths(meter.session), [])
    await page.goto('/account')
    await page.locator('.row', { hasText: 'charged' }).waitFor()
    await page.locator('.chart-legend > li').waitFor()
    t.ok(await page.locator('.chart rect.fast').count(), 'and the day has its bar')
    t.same(problems, [])
  })

  t.test('stopping an answer stops the upstream and keeps the text so far', async (t) => {
    const { page, problems } = await chatting(t, 'ada@example.com')
    gateway.demo.script(() => ({ text: 'never ending '.repeat(5000), betweenMs: 10 }))
    await sendMessage(page, 'Go on')
    await page.locator('.theirs', { hasText: 'never ending' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByText('Stopped').last().waitFor()
    await gateway.waitUntilSettled()
    const [turn] = await gateway.listTurns()
    t.equal(turn?.state, 'settled', 'the turn is charged for what was produced')
    t.ok((turn?.outputTokens ?? 10_000) < 5_000, 'and for no more')
    t.ok(await page.getByRole('button', { name: 'Send' }).isVisible())
    t.same(problems, [])
  })

  t.test('a new conversation that begins during an answer contains nothing of the old one', async (t) => {
    const { page, problems } = await chatting(t, 'ben@example.com')
    gateway.demo.script(() => ({ text: 'never ending '.repeat(5000), betweenMs: 10 }))
    await sendMessage(page, 'Go on')
    await page.locator('.theirs', { hasText: 'never ending' }).waitFor()
    await page.getByRole('button', { name: 'New chat' }).click()
    await page.getByRole('button', { name: 'Send' }).waitFor()
    await page.getByRole('heading', { name: 'What shall we work on?' }).waitFor()
    gateway.demo.script(() => ({ text: 'fine' }))
    const asked = page.waitForRequest((request) => request.url().endsWith('/v1/chat/completions'))
    await sendMessage(page, 'Hello')
    t.same((await asked).postDataJSON().messages, [{ role: 'user', content: 'Hello' }])
    await page.locator('.theirs', { hasText: 'fine' }).waitFor()
    await page.reload()
    await page.locator('.theirs', { hasText: 'fine' }).waitFor()
    t.equal(await page.locator('.message').count(), 2, 'nor does it come back with a reload')
    t.same(problems, [])
  })

  t.test('restores the partial answer when the page is opened again, and does not send it as a complete answer', async (t) => {
    const { page, problems } = await chatting(t, 'cleo@example.com')
    gateway.demo.script(() => ({ text: 'never ending '.repeat(5000), betweenMs: 10 }))
    await sendMessage(page, 'Go on')
    await page.locator('.theirs', { hasText: 'never ending' }).waitFor()
    await page.goto('/docs')
    await gateway.waitUntilSettled()
    await page.goto('/chat')
    await page.locator('.theirs', { hasText: 'never ending' }).waitFor()
    await page.getByText('The page was left while this was written').waitFor()

    gateway.demo.script(() => ({ text: 'half of an answer', betweenMs: 5, error: { at: 'last' } }))
    await sendMessage(page, 'And now?')
    const reference = page.getByText(/^Ref: mbr_\w+ · upstream_error · stage=upstream · HTTP 502/)
    await reference.waitFor()
    await page.reload()
    await reference.waitFor()
    await page.locator('.theirs', { hasText: 'half of an answer' }).waitFor()

    gateway.demo.script(() => ({ text: 'fine' }))
    const asked = page.waitForRequest((request) => request.url().endsWith('/v1/chat/completions'))
    await sendMessage(page, 'Once more')
    t.same(
      (await asked).postDataJSON().messages,
      ['Go on', 'And now?', 'Once more'].map((content) => ({ role: 'user', content })),
    )
    await page.locator('.theirs', { hasText: 'fine' }).waitFor()
    await page.reload()
    await page.locator('.theirs', { hasText: 'fine' }).waitFor()
    t.equal(await page.locator('.message').count(), 6, 'nothing was lost and nothing came twice')
    t.same(problems, [])
  })

  t.test('an opened fold and a selection survive while the rest is written', async (t) => {
    const { page, problems } = await chatting(t, 'dora@example.com')
    gateway.demo.script(() => ({ reasoning: 'thinking', text: `First things first.\n\n${'more '.repeat(400)}`, betweenMs: 10 }))
    await sendMessage(page, 'Go on')
    const fold = page.locator('.theirs details')
    await fold.locator('summary').click()
    const first = page.locator('.theirs p', { hasText: 'First things first.' })
    await first.waitFor()
    await first.selectText()
    const words = async (): Promise<number> => ((await page.locator('.theirs').textContent()) ?? '').length
    const then = await words()
    await waitUntil(async () => (await words()) > then + 100, 'more was written')
    t.equal(await fold.getAttribute('open'), '', 'the fold is open')
    t.equal(await page.evaluate('String(getSelection())'), 'First things first.')
    await page.keyboard.press('Escape')
    t.same(problems, [])
  })

  t.test('shows reference and next step of a failure, before and during an answer', async (t) => {
    const { page, problems } = await chatting(t, 'egon@example.com')
    gateway.demo.script(() => ({ status: 500 }))
    await sendMessage(page, 'Hello?')
    await page.getByText(/^Ref: mbr_\w+ · upstream_error · stage=upstream · HTTP 502 · up=500$/).waitFor()
    t.equal(await page.getByRole('link', { name: 'About this error' }).getAttribute('href'), '/docs/errors#upstream_error')
    await page.getByText('Choose another model.').waitFor()

    gateway.demo.script(() => ({ text: 'fine now' }))
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.locator('.theirs', { hasText: 'fine now' }).waitFor()
    t.equal(await page.getByText(/^Ref: /).count(), 0, 'the failed try is gone')

    gateway.demo.script(() => ({ text: 'half of an answer', betweenMs: 20, error: { at: 'last' } }))
    await sendMessage(page, 'And now?')
    await page.getByText(/^Ref: mbr_\w+ · upstream_error · stage=upstream · HTTP 502/).waitFor()
    await page.locator('.theirs', { hasText: 'half of an answer' }).waitFor()
    t.same(problems, [])
  })

  t.test('offers to try again only where the same request may succeed, or once another model is chosen', async (t) => {
    const { page, problems } = await chatting(t, 'fay@example.com')
    const retry = page.getByRole('button', { name: 'Try again' })
    gateway.demo.script(() => ({ status: 401 }))
    await sendMessage(page, 'Hello?')
    await page.getByText(/^Ref: mbr_\w+ · upstream_not_configured/).waitFor()
    await page.getByText('Contact the operator, with the reference.').waitFor()
    t.equal(await page.getByText('Choose another model.').count(), 0)
    await chooseModel(page, 'svc')
    t.equal(await retry.count(), 0, 'no model helps')

    gateway.demo.script(() => ({ status: 404, body: { error: { message: 'no', code: 'model_not_found' } } }))
    await page.getByRole('button', { name: 'New chat' }).click()
    await sendMessage(page, 'Hello?')
    await page.getByText(/^Ref: mbr_\w+ · upstream_model_unavailable/).waitFor()
    await page.getByText('Choose another model. Contact').waitFor()
    t.equal(await retry.count(), 0)
    gateway.demo.script(() => ({ text: 'fine now' }))
    await chooseModel(page, 'auto')
    await retry.click()
    await page.locator('.theirs', { hasText: 'fine now' }).waitFor()

    await page.route('**/v1/chat/completions', (route) => route.abort())
    await sendMessage(page, 'Are you there?')
    await retry.waitFor()
    await page.unroute('**/v1/chat/completions')
    await retry.click()
    await page.locator('.theirs', { hasText: 'fine now' }).nth(1).waitFor()
    t.same(problems, [])
  })

  t.test('explains empty pools and links to boosts and plans', async (t) => {
    const none = { day: 0, week: 0, month: 0 }
    const gateway = await startGateway(t, { plans: { free: { pools: { fast: none, premium: none } } } })
    const { page, context } = await openBrowserSession(browser, gateway.url)
    t.teardown(() => context.close())
    await openSignedIn(page, gateway, 'mei@example.com', '/chat')
    await sendMessage(page, 'Hello')
    const advice = page.getByRole('link', { name: 'Get a boost pack.' })
    await advice.waitFor()
    t.equal(await page.getByText(/^Ref: /).count(), 0, 'no reference where nothing is wrong')
    t.equal(await advice.getAttribute('href'), '/account/boosts')
  })

  t.test('an empty Premium pool leads to an answer of a Fast model with one press', async (t) => {
    const none = { day: 0, week: 0, month: 0 }
    const some = { day: 50_000, week: 50_000, month: 50_000 }
    const gateway = await startGateway(t, { plans: { free: { pools: { fast: some, premium: none } } } })
    const { page, context, problems } = await openBrowserSession(browser, gateway.url)
    t.teardown(() => context.close())
    await openSignedIn(page, gateway, 'mei@example.com', '/chat')
    await chooseModel(page, 'svc')
    gateway.demo.script(() => ({ text: 'fine now' }))
    await sendMessage(page, 'Hello')
    await page.getByRole('button', { name: 'Ask Auto', exact: true }).waitFor()
    t.equal(await page.getByRole('button', { name: 'Try again' }).count(), 0, 'the same request would be refused again')
    t.equal(await page.getByRole('link', { name: 'Get a boost pack.' }).count(), 0, 'no pack of today is Premium')
    await page.getByRole('button', { name: 'Ask Auto', exact: true }).click()
    await page.locator('.theirs', { hasText: 'fine now' }).waitFor()
    await page.getByRole('link', { name: /^Fast: [\d,]+ of 50,000 credits left today$/ }).waitFor()
    t.same(problems, [])
  })

  t.test('shows a picture of the image product from our own origin', async (t) => {
    const { page, problems } = await chatting(t, 'fritz@example.com')
    await chooseModel(page, 'svc-img')
    await sendMessage(page, 'A lighthouse at dusk')
    const picture = page.locator('.theirs img')
    await picture.waitFor()
    t.match(await picture.getAttribute('src'), `${gateway.url}/v1/images/`)
    await waitUntil(
      () => picture.evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth > 0),
      'the picture',
    )
    await picture.click()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('dialog').getByRole('link', { name: 'Save' }).click(),
    ])
    t.match(download.suggestedFilename(), /\.png$/)
    t.same(problems, [])
  })

  t.test('shows a search as an answer with its sources', async (t) => {
    const { page, context, problems } = await chatting(t, 'greta@example.com')
    await chooseModel(page, 'svc-2.1-search')
    await sendMessage(page, 'What is new in SQLite?')
    await page.locator('.sources a').first().waitFor()
    t.match(await page.locator('.sources a').first().getAttribute('rel'), 'noopener')
    const address = await page.locator('.sources a').first().getAttribute('href')
    t.equal(await page.locator('.theirs p a', { hasText: '[1]' }).first().getAttribute('href'), address, 'a citation leads there')

    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.locator('.theirs').getByRole('button', { name: 'Copy' }).click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    const copied = String(await page.evaluate('navigator.clipboard.readText()'))
    t.match(copied, address ?? '', 'what is copied is what was read')
    t.notMatch(copied, 'svc.search.v1')

    await chooseModel(page, 'svc-2.1')
    const asked = page.waitForRequest((request) => request.url().endsWith('/v1/chat/completions'))
    await sendMessage(page, 'Tell me more')
    const { messages } = (await asked).postDataJSON() as { messages: { role: string; content: string }[] }
    t.equal(messages.find(({ role }) => role === 'assistant')?.content.replaceAll('\r', ''), copied.replaceAll('\r', ''))
    t.same(problems, [])
  })

  t.test('shows an answer that only looks like a search document unchanged, also after a reload', async (t) => {
    const { page, problems } = await chatting(t, 'hugo@example.com')
    const { searchSchema: schema } = gateway.services.names
    const lookalikes = [
      { schema, results: [null] },
      { schema, answer: 7, results: [] },
      { schema, answer: '', results: [{ title: { a: 1 }, url: [], snippet: 5 }] },
    ]
    for (const [place, lookalike] of lookalikes.entries()) {
      gateway.demo.script(() => ({ text: JSON.stringify(lookalike) }))
      await sendMessage(page, 'Go on')
      await page
        .getByText(/tokens in, \d+ out/)
        .nth(place)
        .waitFor()
    }
    await page.reload()
    await page
      .locator('.theirs')
      .nth(lookalikes.length - 1)
      .waitFor()
    gateway.demo.script(() => ({ text: 'fine' }))
    await sendMessage(page, 'And now?')
    await page.locator('.theirs', { hasText: 'fine' }).waitFor()
    t.same(problems, [])
  })

  t.test('hides one member’s conversations from the next member in the same browser, and deletes them on request', async (t) => {
    const { page } = await chatting(t, 'one@example.com')
    const leave = async (choice: string) => {
      await pressSignOut(page)
      await page.getByRole('button', { name: choice }).click()
      await page.waitForURL(`${gateway.url}/`)
    }
    await sendMessage(page, 'my secret')
    await page.getByText(/tokens in, \d+ out/).waitFor()
    await leave('Keep and sign out')
    t.notMatch(await page.evaluate('JSON.stringify(sessionStorage) + JSON.stringify(localStorage)'), 'my secret')
    await signInByCode(page, gateway, 'two@example.com', '/sign-in?next=/chat')
    await page.getByRole('heading', { name: 'What shall we work on?' }).waitFor()
    await page.getByText('Nothing here yet.').waitFor()
    t.equal(await page.getByText('my secret').count(), 0)
    const countDatabases = () => page.evaluate('indexedDB.databases().then(({ length }) => length)')
    await sendMessage(page, 'another secret')
    await page.getByText(/tokens in, \d+ out/).waitFor()
    t.equal(await countDatabases(), 2, 'the first member’s conversations are kept for their next sign-in')
    await leave('Delete and sign out')
    t.equal(await countDatabases(), 1, 'and the second member’s are gone')
  })

  t.test('signing out in a second tab leads the first one to sign-in and keeps nothing in it', async (t) => {
    const { page } = await chatting(t, 'both@example.com')
    await sendMessage(page, 'my secret')
    await page.getByText(/tokens in, \d+ out/).waitFor()
    await page.getByRole('textbox', { name: 'Message' }).fill('half a thought')
    const second = await page.context().newPage()
    await second.goto('/account')
    await pressSignOut(second)
    await second.getByRole('button', { name: 'Delete and sign out' }).click()
    await second.waitForURL(`${gateway.url}/`)
    await page.waitForURL(/\/sign-in/)
    t.notMatch(await page.evaluate('JSON.stringify(sessionStorage)'), 'half a thought')
  })

  t.test('deleting the account in a second tab ends the other tabs, removes the conversations and sends a letter', async (t) => {
    const { page, problems } = await chatting(t, 'gone@example.com')
    await sendMessage(page, 'my secret')
    await page.getByText(/tokens in, \d+ out/).waitFor()
    await page.getByRole('textbox', { name: 'Message' }).fill('half a thought')
    const [usage, security] = [await page.context().newPage(), await page.context().newPage()]
    await usage.goto('/account')
    await security.goto('/account/security')
    await security.getByText('and the conversations in this browser').first().waitFor()
    await security.locator('summary', { hasText: 'Delete my account' }).click()
    const dialog = security.getByRole('dialog')
    await dialog.getByLabel('to confirm').fill('gone@example.com')
    await dialog.getByRole('button', { name: 'Delete for good' }).click()
    await security.waitForURL(`${gateway.url}/`)
    for (const tab of [page, usage]) await tab.waitForURL(/\/sign-in/)
    for (const tab of [page, usage, security]) {
      t.equal(await tab.evaluate('indexedDB.databases().then(({ length }) => length)'), 0)
      t.notMatch(await tab.evaluate('JSON.stringify(sessionStorage) + JSON.stringify(localStorage)'), /secret|half a thought/)
    }
    await waitUntil(
      () => readEmailsTo(gateway, 'gone@example.com').some((email) => email.includes('account was deleted')),
      'the letter is sent',
    )
    t.same(problems, [])
  })

  t.test('keeps conversations: finds, renames, exports and deletes them, and takes a deletion back', async (t) => {
    const { page, problems } = await chatting(t, 'ida@example.com')
    gateway.demo.script(() => ({ text: 'Basalt columns have **six** sides.' }))
    await sendMessage(page, 'Tell me about basalt columns')
    await page.getByText(/tokens in, \d+ out/).waitFor()
    gateway.demo.script(() => ({ text: 'Rye bread needs time.' }))
    await page.getByRole('button', { name: 'New chat' }).click()
    await sendMessage(page, 'Tell me about bread')
    await page.getByText(/tokens in, \d+ out/).waitFor()
    const listed = page.locator('.conversation-open')
    t.same(await listed.allTextContents(), ['Tell me about bread', 'Tell me about basalt columns'])

    const search = page.getByRole('searchbox', { name: 'Search conversations' })
    await search.fill('SIX')
    await page.getByText('Tell me about bread').first().waitFor({ state: 'visible' })
    await listed.nth(1).waitFor({ state: 'detached' })
    await listed.first().click()
    await page.locator('.theirs strong', { hasText: 'six' }).waitFor()

    await page.getByRole('button', { name: 'Rename “Tell me about basalt columns”' }).click()
    await page.getByRole('textbox', { name: 'Title' }).fill('Stones')
    await page.keyboard.press('Enter')
    await search.fill('')
    await page.getByRole('button', { name: 'Stones', exact: true }).waitFor()

    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export “Stones”' }).click(),
    ])
    t.equal(download.suggestedFilename(), 'Stones.md')
    t.match(readFileSync(await download.path(), 'utf8'), /^# Stones\n[^]*Tell me about basalt[^]*\*\*six\*\* sides/)
    const [everything] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export all' }).click(),
    ])
    const { conversations } = JSON.parse(readFileSync(await everything.path(), 'utf8'))
    t.match(conversations, [{ title: 'Tell me about bread' }, { title: 'Stones', messages: [{}, { content: /six/ }] }])

    await page.getByRole('button', { name: 'Delete “Stones”' }).click()
    await page.getByRole('heading', { name: 'What shall we work on?' }).waitFor()
    await page.getByRole('button', { name: 'Stones', exact: true }).waitFor({ state: 'detached' })
    t.same(await listed.allTextContents(), ['Tell me about bread'])
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.locator('.theirs strong', { hasText: 'six' }).waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'Stones', exact: true }).waitFor()
    t.equal(await page.locator('.message').count(), 2)
    t.same(problems, [])
  })

  t.test(
    'a deleted conversation leaves the browser at once, also where the page is left or an answer is being written',
    async (t) => {
      const { page, problems } = await chatting(t, 'eve@example.com')
      const listed = page.locator('.conversation-open')
      const removeListed = () =>
        page
          .getByRole('button', { name: /^Delete “/ })
          .first()
          .click()
      gateway.demo.script(() => ({ text: 'a first secret' }))
      await sendMessage(page, 'first question')
      await page.getByText(/tokens in, \d+ out/).waitFor()
      await removeListed()
      await page.getByRole('button', { name: 'Undo' }).waitFor()
      t.notMatch(await page.evaluate(storedScript), /first/, 'while it can be taken back')
      await page.getByRole('button', { name: 'Undo' }).click()
      await page.locator('.theirs', { hasText: 'a first secret' }).waitFor()
      await page.reload()
      await page.locator('.theirs', { hasText: 'a first secret' }).waitFor()

      await page.evaluate('IDBObjectStore.prototype.delete = function () { throw new DOMException("aborted", "AbortError") }')
      await removeListed()
      await page.getByRole('button', { name: 'Undo' }).waitFor()
      await page.reload()
      await page.getByText('Nothing here yet.').waitFor()
      t.notMatch(await page.evaluate(storedScript), /first/, 'where the browser dropped the transaction')

      gateway.demo.script(() => ({ text: 'a second secret '.repeat(200), betweenMs: 15 }))
      await sendMessage(page, 'second question')
      const other = await page.context().newPage()
      await other.goto(`${gateway.url}/chat`)
      await page.locator('.theirs', { hasText: 'a second secret' }).waitFor()
      await other.locator('.conversation').hover()
      await other.getByRole('button', { name: /^Delete “/ }).click()
      await page.getByText('was deleted in another tab').waitFor()
      await sendMessage(page, 'third question')
      await page.locator('.theirs', { hasText: 'a second secret' }).waitFor()
      await removeListed()
      await page.getByRole('button', { name: 'Undo' }).click()
      await page.locator('.theirs', { hasText: 'a second secret' }).waitFor()
      await removeListed()
      await page.getByRole('heading', { name: 'What shall we work on?' }).waitFor()
      for (const tab of [page, other]) {
        await tab.reload()
        await tab.getByText('Nothing here yet.').waitFor()
        t.notMatch(await tab.evaluate(storedScript), /second|third/, 'the answer does not bring it back')
      }
      t.equal(await listed.count(), 0)
      t.same(problems, [])
    },
  )

  t.test('a damaged record does not stop the page', async (t) => {
    const { page, problems } = await chatting(t, 'rex@example.com')
    await sendMessage(page, 'a good question')
    await page.getByText(/tokens in, \d+ out/).waitFor()
    await page.evaluate(damageScript)
    await page.reload()
    await page.locator('.theirs').first().waitFor()
    t.equal(await page.locator('.theirs').count(), 3, 'answers with damaged details are shown')
    await page.getByRole('button', { name: 'a good question', exact: true }).waitFor()
    for (const untitled of await page.locator('.conversation-open', { hasText: 'Untitled' }).all()) {
      await untitled.click()
      await page.getByRole('heading', { name: 'What shall we work on?' }).waitFor()
    }
    await page.getByRole('searchbox', { name: 'Search conversations' }).fill('good')
    await page.locator('.conversation-open').nth(1).waitFor({ state: 'detached' })
    await page.locator('.conversation-open').click()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export all' }).click(),
    ])
    t.match(readFileSync(await download.path(), 'utf8'), 'a good question')
    await sendMessage(page, 'and another')
    await page.locator('.mine', { hasText: 'and another' }).waitFor()
    await page.locator('.theirs').nth(3).waitFor()
    t.same(problems, [])
  })

  t.test('edits, regenerates and continues answers, and takes a replacement back', async (t) => {
    const { page, problems } = await chatting(t, 'jan@example.com')
    const bodies: { messages: { role: string; content: string }[] }[] = []
    page.on('request', (request) => {
      if (request.url().endsWith('/v1/chat/completions')) bodies.push(request.postDataJSON())
    })
    gateway.demo.script(() => ({ text: 'the first answer' }))
    await sendMessage(page, 'Whta?')
    await page.getByText(/tokens in, \d+ out/).waitFor()

    gateway.demo.script(() => ({ text: 'the second answer' }))
    await page.locator('.mine').hover()
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByRole('textbox', { name: 'Your message' }).fill('What?')
    await page.getByRole('button', { name: 'Send again' }).click()
    await page.locator('.theirs', { hasText: 'the second answer' }).waitFor()
    await page.getByText(/tokens in, \d+ out/).waitFor()
    t.same(bodies.at(-1)?.messages, [{ role: 'user', content: 'What?' }])
    t.equal(await page.locator('.message').count(), 2)
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.locator('.theirs', { hasText: 'the first answer' }).waitFor()
    t.same(await page.locator('.mine .prose').allTextContents(), ['Whta?'])

    gateway.demo.script(() => ({ text: 'half of it '.repeat(2_000), betweenMs: 10 }))
    await page.getByRole('button', { name: 'Regenerate' }).click()
    await page.locator('.theirs', { hasText: 'half of it' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByText('Stopped').last().waitFor()
    gateway.demo.script(() => ({ text: 'and the other half' }))
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.locator('.theirs', { hasText: /^Auto.*half of it.*and the other half/s }).waitFor()
    t.match(
      bodies.at(-1)?.messages.map(({ role, content }) => `${role}: ${content.slice(0, 10)}`),
      ['user: Whta?', 'assistant: half of it', 'user: Your last '],
    )
    await page.getByText(/tokens in, \d+ out/).waitFor()
    await page.reload()
    await page.locator('.theirs', { hasText: 'and the other half' }).waitFor()
    t.equal(await page.locator('.message').count(), 2)
    t.same(problems, [])
  })

  t.test('offers another model at an error, which answers with one press', async (t) => {
    const { page, problems } = await chatting(t, 'kai@example.com')
    gateway.demo.script(() => ({ status: 500 }))
    await sendMessage(page, 'Hello?')
    await page.getByText(/^Ref: mbr_\w+ · upstream_error/).waitFor()
    gateway.demo.script(() => ({ text: 'fine now' }))
    const asked = page.waitForRequest((request) => request.url().endsWith('/v1/chat/completions'))
    await page.getByRole('button', { name: 'Ask Svc', exact: true }).click()
    t.equal((await asked).postDataJSON().model, 'svc')
    await page.locator('.theirs', { hasText: 'fine now' }).waitFor()
    t.equal(await page.locator('.message').count(), 2)
    t.same(problems, [])
  })

  t.test('shows what a turn cost and what is left, and sends instructions and temperature', async (t) => {
    const { page, problems } = await chatting(t, 'tom@example.com')
    await page.getByRole('link', { name: /^Fast: 2,000,000 of 2,000,000 credits left today/ }).waitFor()
    await page.getByRole('button', { name: 'Instructions and temperature' }).click()
    await page.getByLabel('Instructions', { exact: true }).fill('Be brief.')
    await page.getByLabel('Choose the temperature').first().check()
    await page.locator('#temperature').fill('0.3')
    await page.getByRole('button', { name: 'Save' }).click()
    gateway.demo.script(() => ({ text: 'word '.repeat(200) }))
    const asked = page.waitForRequest((request) => request.url().endsWith('/v1/chat/completions'))
    await sendMessage(page, 'Hello')
    const body = (await asked).postDataJSON()
    t.match(body, {
      temperature: 0.3,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hello' },
      ],
    })
    await page
      .locator('.theirs')
      .getByText(/^\d+ credits$/)
      .waitFor()
    const [turn] = await gateway.listTurns()
    await page.locator('.theirs').getByText(`${turn?.credits} credits`, { exact: true }).waitFor()
    const left = (2_000_000 - Number(turn?.credits)).toLocaleString('en-US')
    await page.getByRole('link', { name: `Fast: ${left} of 2,000,000 credits left today` }).waitFor()
    await page.reload()
    await page.locator('.theirs').getByText(`${turn?.credits} credits`, { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Instructions and temperature' }).click()
    t.equal(await page.getByLabel('Instructions', { exact: true }).inputValue(), 'Be brief.')
    t.same(problems, [])
  })

  t.test('attaches pictures by file, paste and drop, to models that see them, and shows them larger', async (t) => {
    const { page, problems } = await chatting(t, 'una@example.com')
    const png = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    )
    const files = page.locator('[data-files]')
    const attached = page.locator('[data-attachments] img')
    await page.evaluate(`globalThis.give = (kind) => {
      const data = new DataTransfer()
      data.items.add(new File([Uint8Array.from(atob('${png.toString('base64')}'), (c) => c.charCodeAt(0))], 'dot.png', { type: 'image/png' }))
      const event = kind === 'paste' ? new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true })
        : new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true })
      document.querySelector('#message').dispatchEvent(event)
    }`)
    // Its scripts listen once the page shows what is left.
    await page.getByRole('link', { name: /credits left/ }).waitFor()
    await page.evaluate("give('paste')")
    await page.getByText('Auto cannot see pictures.').waitFor()
    t.equal(await attached.count(), 0)
    await page.getByRole('button', { name: 'Use Svc', exact: true }).click()
    await attached.first().waitFor()
    await page.evaluate("give('drop')")
    await attached.nth(1).waitFor()
    await files.setInputFiles([
      { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('x') },
      { name: 'broken.png', mimeType: 'image/png', buffer: Buffer.from('x') },
    ])
    await page.getByText('“broken.png” could not be read.').waitFor()
    await page.getByRole('button', { name: 'Remove the picture' }).first().click()
    await waitUntil(async () => (await attached.count()) === 1, 'one is left')

    gateway.demo.script(() => ({ text: 'a dot' }))
    const asked = page.waitForRequest((request) => request.url().endsWith('/v1/chat/completions'))
    await sendMessage(page, 'What is this?')
    const { messages } = (await asked).postDataJSON()
    t.match(messages, [
      {
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: /^data:image\/png;base64,/ } },
        ],
      },
    ])
    await page.locator('.theirs', { hasText: 'a dot' }).waitFor()
    await page.reload()
    await page.locator('.mine img').click()
    await page.getByRole('dialog', { name: 'Attached picture' }).getByRole('link', { name: 'Save' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    t.same(problems, [])
  })

  t.test('works without storage, says that it keeps nothing, and exports what there is', async (t) => {
    const { page, context, problems } = await openBrowserSession(browser, gateway.url)
    t.teardown(() => context.close())
    await context.addInitScript(`for (const name of ['localStorage', 'sessionStorage', 'indexedDB'])
      Object.defineProperty(window, name, { get() { throw new DOMException('no', 'SecurityError') } })`)
    gateway.demo.script(() => ({ text: 'fine' }))
    await openSignedIn(page, gateway, 'lea@example.com', '/chat')
    await page.getByText('This browser does not store conversations.').waitFor()
    await sendMessage(page, 'Hello')
    await page.getByText(/tokens in, \d+ out/).waitFor()
    await page.getByRole('button', { name: 'New chat' }).click()
    await page.getByRole('button', { name: 'Hello', exact: true }).click()
    await page.locator('.theirs', { hasText: 'fine' }).waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export “Hello”' }).click(),
    ])
    t.match(readFileSync(await download.path(), 'utf8'), 'fine')
    t.same(problems, [])
  })

  t.test('keeps a message that a full storage refuses while the page is open, and stores it when there is room', async (t) => {
    const { page, problems } = await chatting(t, 'max@example.com')
    await page.evaluate(`{
      const { put } = IDBObjectStore.prototype
      IDBObjectStore.prototype.put = function () { throw new DOMException('full', 'QuotaExceededError') }
      window.makeRoom = () => { IDBObjectStore.prototype.put = put }
    }`)
    gateway.demo.script(() => ({ text: 'one answer' }))
    await sendMessage(page, 'First')
    await page.getByText('This browser has no room for more.').waitFor()
    await page.locator('.theirs', { hasText: 'one answer' }).waitFor()
    await page.getByText(/tokens in, \d+ out/).waitFor()
    await page.evaluate('makeRoom()')
    await sendMessage(page, 'Second')
    await page
      .getByText(/tokens in, \d+ out/)
      .nth(1)
      .waitFor()
    await page.getByText('This browser has no room for more.').waitFor({ state: 'hidden' })
    await page.reload()
    await page.locator('.theirs').nth(1).waitFor()
    t.equal(await page.locator('.message').count(), 4, 'with the messages of before')
    t.same(problems, [])
  })

  t.test('loses nothing where the page is left before the browser has stored it', async (t) => {
    const { page, problems } = await chatting(t, 'lou@example.com')
    await page.evaluate('IDBObjectStore.prototype.put = function () { throw new DOMException("aborted", "AbortError") }')
    gateway.demo.script(() => ({ text: 'an answer' }))
    await sendMessage(page, 'Quick question')
    await page.getByText(/tokens in, \d+ out/).waitFor()
    await page.reload()
    await page.locator('.theirs', { hasText: 'an answer' }).waitFor()
    t.same(await page.locator('.mine .prose').allTextContents(), ['Quick question'])
    await page.reload()
    await page.getByRole('button', { name: 'Quick question', exact: true }).waitFor()
    t.equal(await page.locator('.message').count(), 2, 'and it is stored then')
    t.same(problems, [])
  })

  t.test('an abort just before the page is left is no failure, as Firefox and WebKit order them', async (t) => {
    const { page, problems } = await chatting(t, 'nia@example.com')
    await page.evaluate(`{
      const { fetch } = window
      window.fetch = async (...sent) => {
        const response = await fetch(...sent)
        let fail
        window.leave = () => { fail(new TypeError('Error in input stream')); setTimeout(() => dispatchEvent(new Event('pagehide')), 20) }
        const body = response.body.pipeThrough(new TransformStream({ start: (controller) => { fail = (error) => controller.error(error) } }))
        return new Response(body, response)
      }
    }`)
    gateway.demo.script(() => ({ text: 'never ending '.repeat(500), betweenMs: 10 }))
    await sendMessage(page, 'Go on')
    await page.locator('.theirs', { hasText: 'never ending' }).waitFor()
    await page.evaluate('leave()')
    await page.getByText('The page was left while this was written').waitFor()
    t.equal(await page.getByText('The connection broke').count(), 0)
    t.same(problems, [])
  })

  t.test('an Enter that ends a composition sends nothing, in Safari’s order too', async (t) => {
    const { page } = await chatting(t, 'oda@example.com')
    await page.getByRole('textbox', { name: 'Message' }).fill('nihao')
    await page.evaluate(`{
      const field = document.querySelector('#message')
      field.dispatchEvent(new CompositionEvent('compositionend', { data: '你好', bubbles: true }))
      field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', keyCode: 229, bubbles: true, cancelable: true }))
    }`)
    t.equal(await page.locator('.message').count(), 0)
    await page.keyboard.press('Enter')
    await page.locator('.mine', { hasText: 'nihao' }).waitFor()
  })

  t.test('sends a message that was sent before the stored conversations are there', async (t) => {
    const { page, context, problems } = await openBrowserSession(browser, gateway.url)
    t.teardown(() => context.close())
    await context.addInitScript(`{
      const { open } = IDBFactory.prototype
      IDBFactory.prototype.open = function (...sent) {
        const request = open.apply(this, sent)
        const { addEventListener } = request
        request.addEventListener = (kind, listener) =>
          addEventListener.call(request, kind, (event) => (kind === 'success' ? (window.finishOpen = () => listener(event)) : listener(event)))
        return request
      }
    }`)
    gateway.demo.script(() => ({ text: 'fine' }))
    await openSignedIn(page, gateway, 'sam@example.com', '/chat')
    await waitUntil(() => page.evaluate<boolean>("'finishOpen' in window"), 'the browser opens the database')
    await sendMessage(page, 'Quick')
    await page.evaluate('finishOpen()')
    await page.locator('.theirs', { hasText: 'fine' }).waitFor()
    t.same(problems, [])
  })

  t.test('two tabs on one conversation lose neither’s messages', async (t) => {
    const { page, context, problems } = await chatting(t, 'pia@example.com')
    gateway.demo.script(() => ({ text: 'an answer' }))
    await sendMessage(page, 'From the first tab')
    await page.getByText(/tokens in, \d+ out/).waitFor()
    const second = await context.newPage()
    await second.goto('/chat')
    await second.getByRole('button', { name: 'From the first tab', exact: true }).click()
    await second.locator('.theirs', { hasText: 'an answer' }).waitFor()
    await sendMessage(second, 'From the second tab')
    await second
      .locator('.theirs')
      .nth(1)
      .getByText(/tokens in/)
      .waitFor()
    await page
      .locator('.theirs')
      .nth(1)
      .getByText(/tokens in/)
      .waitFor()
    t.same(await page.locator('.mine .prose').allTextContents(), ['From the first tab', 'From the second tab'])
    await second.getByRole('button', { name: 'Delete “From the first tab”' }).click()
    await page.getByText('This conversation was deleted in another tab').waitFor()
    t.equal(await page.locator('.message').count(), 0)
    t.same(problems, [])
  })

  t.test('a session that ends meanwhile keeps the question, which is sent again after signing in', async (t) => {
    const { page, context } = await chatting(t, 'rio@example.com')
    gateway.demo.script(() => ({ text: 'fine' }))
    const cookies = await context.cookies()
    await context.clearCookies()
    await sendMessage(page, 'Are you there?')
    const signIn = page.getByRole('link', { name: 'Sign in again.' })
    await signIn.waitFor()
    t.equal(await signIn.getAttribute('href'), '/sign-in?next=%2Fchat')
    await context.addCookies(cookies)
    await page.goto('/sign-in?next=/chat')
    await page.locator('.mine', { hasText: 'Are you there?' }).waitFor()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.locator('.theirs', { hasText: 'fine' }).waitFor()
    t.equal(await page.locator('.message').count(), 2)
  })
}

async function sendMessage(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Message' }).fill(text)
  await page.keyboard.press('Enter')
}

async function chooseModel(page: Page, id: string): Promise<void> {
  await page.locator('[data-picker] summary').click()
  await page.locator(`[data-picker] input[value="${id}"]`).check()
}
