import type { Browser, Page } from 'playwright-core'
import t from 'tap'
import type { Test } from 'tap'
import { openChromium, visitor } from '../support/chromium.ts'
import { startGateway, until } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { openAs, signInByCode } from '../support/site.ts'

const browser = await openChromium(t)
if (browser !== undefined) journeys(browser, await startGateway(t, { defaultPlan: 'max' }))

function journeys(browser: Browser, gateway: TestGateway): void {
  /** Somebody with the chat open, in a browser of their own; the upstream answers as it does by itself. */
  const chatting = async (t: Test, email: string) => {
    gateway.demo.script(() => undefined)
    const chatter = await visitor(browser, gateway.url)
    t.teardown(() => chatter.context.close())
    await openAs(chatter.page, gateway, email, '/chat')
    return chatter
  }

  t.test('an answer streams in as it is written, is shown as Markdown, and is counted', async (t) => {
    const { page, problems } = await chatting(t, 'mei@example.com')
    await page.getByRole('heading', { name: 'What shall we work on?' }).waitFor()
    const offered = await page.getByLabel('Model').locator('option').allTextContents()
    t.same([...offered].sort(), gateway.services.products.all.map(({ name }) => name).sort(), 'the models of the plan')

    // Slow enough that a part of it is seen before the rest is written.
    gateway.demo.script(() => ({
      text: '# Title\n\nSome **bold** words, and `code`.\n\n- one\n- two\n\n' + 'word '.repeat(60),
      betweenMs: 15,
    }))
    await send(page, 'Write something')
    await page.getByRole('button', { name: 'Stop' }).waitFor()
    await page.locator('.theirs strong', { hasText: 'bold' }).waitFor()
    t.ok(await page.getByRole('button', { name: 'Stop' }).isVisible(), 'the first words are shown while the rest is written')
    await page.getByText(/tokens in, \d+ out/).waitFor()
    t.equal(await page.locator('.theirs li').count(), 2)
    t.equal(await page.locator('.theirs h3').textContent(), 'Title')
    t.equal(await page.getByRole('status').first().textContent(), 'The answer is complete.', 'and a screen reader is told')

    await page.reload()
    await page.locator('.theirs strong').waitFor()
    t.equal(await page.locator('.mine').count(), 1, 'the conversation is kept over a reload')
    await page.goto('/account')
    await page.getByRole('row', { name: /charged/ }).waitFor()
    await page.getByRole('img', { name: /Credits by day/ }).waitFor()
    t.ok(await page.locator('rect.chart-fast').count(), 'and the day has its bar')
    t.same(problems, [])
  })

  t.test('stopping an answer stops the upstream and keeps what was said', async (t) => {
    const { page, problems } = await chatting(t, 'ada@example.com')
    gateway.demo.script(() => ({ text: 'never ending '.repeat(5000), betweenMs: 10 }))
    await send(page, 'Go on')
    await page.locator('.theirs', { hasText: 'never ending' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByText('Stopped').last().waitFor()
    await gateway.settled()
    const [turn] = await gateway.turns()
    t.equal(turn?.state, 'settled', 'the turn is charged for what was produced')
    t.ok((turn?.outputTokens ?? 10_000) < 5_000, 'and for no more')
    t.ok(await page.getByRole('button', { name: 'Send' }).isVisible())
    t.same(problems, [])
  })

  t.test('a new conversation begun while an answer is written knows nothing of the old one', async (t) => {
    const { page, problems } = await chatting(t, 'ben@example.com')
    gateway.demo.script(() => ({ text: 'never ending '.repeat(5000), betweenMs: 10 }))
    await send(page, 'Go on')
    await page.locator('.theirs', { hasText: 'never ending' }).waitFor()
    await page.getByRole('button', { name: 'New chat' }).click()
    await page.getByRole('button', { name: 'Send' }).waitFor()
    await page.getByRole('heading', { name: 'What shall we work on?' }).waitFor()
    gateway.demo.script(() => ({ text: 'fine' }))
    const asked = page.waitForRequest((request) => request.url().endsWith('/v1/chat/completions'))
    await send(page, 'Hello')
    t.same((await asked).postDataJSON().messages, [{ role: 'user', content: 'Hello' }])
    await page.locator('.theirs', { hasText: 'fine' }).waitFor()
    await page.reload()
    await page.locator('.theirs', { hasText: 'fine' }).waitFor()
    t.equal(await page.locator('.message').count(), 2, 'nor does it come back with a reload')
    t.same(problems, [])
  })

  t.test(
    'what was answered before the page was left is there when it is opened again, and is not sent as a whole answer',
    async (t) => {
      const { page, problems } = await chatting(t, 'cleo@example.com')
      gateway.demo.script(() => ({ text: 'never ending '.repeat(5000), betweenMs: 10 }))
      await send(page, 'Go on')
      await page.locator('.theirs', { hasText: 'never ending' }).waitFor()
      await page.goto('/docs')
      await gateway.settled()
      await page.goto('/chat')
      await page.locator('.theirs', { hasText: 'never ending' }).waitFor()
      await page.getByText('The page was left while this was written').waitFor()

      gateway.demo.script(() => ({ text: 'half of an answer', betweenMs: 5, error: { at: 'last' } }))
      await send(page, 'And now?')
      const reference = page.getByText(/^Ref: mbr_\w+ · upstream_error · stage=upstream · HTTP 502/)
      await reference.waitFor()
      await page.reload()
      await reference.waitFor()
      await page.locator('.theirs', { hasText: 'half of an answer' }).waitFor()

      gateway.demo.script(() => ({ text: 'fine' }))
      const asked = page.waitForRequest((request) => request.url().endsWith('/v1/chat/completions'))
      await send(page, 'Once more')
      t.same(
        (await asked).postDataJSON().messages,
        ['Go on', 'And now?', 'Once more'].map((content) => ({ role: 'user', content })),
      )
      await page.locator('.theirs', { hasText: 'fine' }).waitFor()
      await page.reload()
      await page.locator('.theirs', { hasText: 'fine' }).waitFor()
      t.equal(await page.locator('.message').count(), 6, 'nothing was lost and nothing came twice')
      t.same(problems, [])
    },
  )

  t.test('an opened fold and a selection stay while the rest is written', async (t) => {
    const { page, problems } = await chatting(t, 'dora@example.com')
    gateway.demo.script(() => ({ reasoning: 'thinking', text: `First things first.\n\n${'more '.repeat(400)}`, betweenMs: 10 }))
    await send(page, 'Go on')
    const fold = page.locator('.theirs details')
    await fold.locator('summary').click()
    const first = page.locator('.theirs p', { hasText: 'First things first.' })
    await first.waitFor()
    await first.selectText()
    const words = async (): Promise<number> => ((await page.locator('.theirs').textContent()) ?? '').length
    const then = await words()
    await until(async () => (await words()) > then + 100, 'more was written')
    t.equal(await fold.getAttribute('open'), '', 'the fold is open')
    t.equal(await page.evaluate('String(getSelection())'), 'First things first.')
    await page.keyboard.press('Escape')
    t.same(problems, [])
  })

  t.test('a failure shows its reference and what to do, before the answer and in the middle of it', async (t) => {
    const { page, problems } = await chatting(t, 'egon@example.com')
    gateway.demo.script(() => ({ status: 500 }))
    await send(page, 'Hello?')
    await page.getByText(/^Ref: mbr_\w+ · upstream_error · stage=upstream · HTTP 502 · up=500$/).waitFor()
    await page.getByText('Choose another model.').waitFor()

    gateway.demo.script(() => ({ text: 'fine now' }))
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.locator('.theirs', { hasText: 'fine now' }).waitFor()
    t.equal(await page.getByText(/^Ref: /).count(), 0, 'the failed try is gone')

    gateway.demo.script(() => ({ text: 'half of an answer', betweenMs: 20, error: { at: 'last' } }))
    await send(page, 'And now?')
    await page.getByText(/^Ref: mbr_\w+ · upstream_error · stage=upstream · HTTP 502/).waitFor()
    await page.locator('.theirs', { hasText: 'half of an answer' }).waitFor()
    t.same(problems, [])
  })

  t.test('when the pools are empty the chat says so and leads to boosts and plans', async (t) => {
    const none = { day: 0, week: 0, month: 0 }
    const gateway = await startGateway(t, { plans: { free: { pools: { fast: none, premium: none } } } })
    const { page, context } = await visitor(browser, gateway.url)
    t.teardown(() => context.close())
    await openAs(page, gateway, 'mei@example.com', '/chat')
    await send(page, 'Hello')
    await page.getByText(/^Ref: .* · quota_exceeded · stage=quota · HTTP 402$/).waitFor()
    t.equal(await page.getByRole('link', { name: 'Get a boost pack.' }).getAttribute('href'), '/account#title-boosts')
  })

  t.test('a picture from the image product is shown, from our own origin', async (t) => {
    const { page, problems } = await chatting(t, 'fritz@example.com')
    await page.getByLabel('Model').selectOption('svc-img')
    await send(page, 'A lighthouse at dusk')
    const picture = page.locator('.theirs img')
    await picture.waitFor()
    t.match(await picture.getAttribute('src'), `${gateway.url}/v1/images/`)
    await until(() => picture.evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth > 0), 'the picture')
    t.same(problems, [])
  })

  t.test('a search is shown as an answer with its sources', async (t) => {
    const { page, context, problems } = await chatting(t, 'greta@example.com')
    await page.getByLabel('Model').selectOption('svc-2.1-search')
    await send(page, 'What is new in SQLite?')
    await page.locator('.sources a').first().waitFor()
    t.match(await page.locator('.sources a').first().getAttribute('rel'), 'noopener')
    const address = await page.locator('.sources a').first().getAttribute('href')

    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.locator('.theirs').getByRole('button', { name: 'Copy' }).click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    const copied = String(await page.evaluate('navigator.clipboard.readText()'))
    t.match(copied, address ?? '', 'what is copied is what was read')
    t.notMatch(copied, 'svc.search.v1')

    await page.getByLabel('Model').selectOption('svc-2.1')
    const asked = page.waitForRequest((request) => request.url().endsWith('/v1/chat/completions'))
    await send(page, 'Tell me more')
    const { messages } = (await asked).postDataJSON() as { messages: { role: string; content: string }[] }
    t.equal(messages.find(({ role }) => role === 'assistant')?.content.replaceAll('\r', ''), copied.replaceAll('\r', ''))
    t.same(problems, [])
  })

  t.test('an answer that only looks like a search document is shown as it is, also after a reload', async (t) => {
    const { page, problems } = await chatting(t, 'hugo@example.com')
    const { searchSchema: schema } = gateway.services.names
    const lookalikes = [
      { schema, results: [null] },
      { schema, answer: 7, results: [] },
      { schema, answer: '', results: [{ title: { a: 1 }, url: [], snippet: 5 }] },
    ]
    for (const [place, lookalike] of lookalikes.entries()) {
      gateway.demo.script(() => ({ text: JSON.stringify(lookalike) }))
      await send(page, 'Go on')
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
    await send(page, 'And now?')
    await page.locator('.theirs', { hasText: 'fine' }).waitFor()
    t.same(problems, [])
  })

  t.test('what one member said in a tab is not shown to the next one in it', async (t) => {
    const { page } = await chatting(t, 'one@example.com')
    await send(page, 'my secret')
    await page.getByText(/tokens in, \d+ out/).waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForURL(`${gateway.url}/`)
    t.notMatch(await page.evaluate('JSON.stringify(sessionStorage)'), 'my secret', 'nor kept for whoever looks')
    await signInByCode(page, gateway, 'two@example.com', '/sign-in?next=/chat')
    await page.getByRole('heading', { name: 'What shall we work on?' }).waitFor()
    t.equal(await page.getByText('my secret').count(), 0)
  })

  t.test('signing out in a second tab clears it too', async (t) => {
    const { page } = await chatting(t, 'both@example.com')
    await send(page, 'my secret')
    await page.getByText(/tokens in, \d+ out/).waitFor()
    const second = await page.context().newPage()
    await second.goto('/account')
    await second.getByRole('button', { name: 'Sign out' }).click()
    await second.waitForURL(`${gateway.url}/`)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForURL(`${gateway.url}/`)
    t.notMatch(await page.evaluate('JSON.stringify(sessionStorage)'), 'my secret')
  })
}

async function send(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Message' }).fill(text)
  await page.keyboard.press('Enter')
}
