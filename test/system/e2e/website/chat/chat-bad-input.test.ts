/** The chat under bad conditions: an answer of a megabyte, a picture that is lost, two tabs, a session that ends. Nothing is lost. */
import type { Browser, Page } from 'playwright-core'
import t from 'tap'
import { hugeAnswerConfig } from '../../../../support/gateway/huge-answer.ts'
import { openChromium, openBrowserSession } from '../../../../support/website/chromium.ts'
import { createMovableClock } from '../../../../support/gateway/movable-clock.ts'
import { startGateway, waitUntil } from '../../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../../support/gateway/test-gateway.ts'
import { openSignedIn, pressSignOut } from '../../../../support/website/sign-in.ts'

const browser = await openChromium(t)
if (browser !== undefined) {
  const product = { ...hugeAnswerConfig.products['svc-2.1'], defaultOutputTokens: 1_000_000 }
  const config = { ...hugeAnswerConfig, products: { 'svc-2.1': product }, defaultPlan: 'max' }
  const { clock, advance } = createMovableClock()
  runJourneys(browser, await startGateway(t, config, { clock }), () => advance(2 * 60_000))
}

/** `waitForCode`: until another code may be requested for the same address. */
function runJourneys(browser: Browser, gateway: TestGateway, waitForCode: () => void): void {
  t.test('an answer of a megabyte leaves the page usable, and a lost picture in it is explained', async (t) => {
    const { page, context, problems } = await openBrowserSession(browser, gateway.url)
    t.teardown(() => context.close())
    await openSignedIn(page, gateway, 'mei@example.com', '/chat')
    await chooseModel(page, 'svc-2.1')
    const picture = `![A lighthouse](${gateway.url}/v1/images/${'0'.repeat(64)}.png?exp=1&sig=x.y)`
    const paragraph = `Some **words** of prose with \`code\`. ${'word '.repeat(960)}`.trim()
    const text = `${picture}\n\n${`${paragraph}\n\n`.repeat(210)}The last words.`
    t.ok(text.length > 1_000_000)
    gateway.demo.script(() => ({ text, tokensPerEvent: 200 }))
    await page.evaluate(`{
      let last = performance.now()
      window.longestPauseMs = 0
      setInterval(() => {
        const now = performance.now()
        window.longestPauseMs = Math.max(window.longestPauseMs, now - last)
        last = now
      }, 10)
    }`)
    await sendMessage(page, 'Everything')
    await page.locator('.theirs', { hasText: 'Some words of prose' }).waitFor()
    await page.getByRole('textbox', { name: 'Message' }).fill('typed meanwhile')
    await page.getByText(/tokens in, [\d,]+ out/).waitFor()
    const pauseMs = Number(await page.evaluate('Math.round(window.longestPauseMs)'))
    t.ok(pauseMs < 5_000, `the page stood still for ${pauseMs} ms at most`)
    t.match(await page.locator('.theirs .prose > :last-child').textContent(), /The last words\.$/)
    t.equal(await page.locator('.theirs .prose > p').count(), 212, 'all of it is there')
    await page.locator('.theirs .picture').scrollIntoViewIfNeeded()
    await page.getByText('the picture could not be loaded; ask for it again').waitFor()

    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.locator('.theirs').getByRole('button', { name: 'Copy' }).click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    t.equal(String(await page.evaluate('navigator.clipboard.readText()')).replaceAll('\r', ''), text)
    await page.reload()
    t.match(await page.locator('.theirs .prose > :last-child').textContent(), /The last words\.$/, 'also after a reload')
    t.equal(await page.getByRole('textbox', { name: 'Message' }).inputValue(), 'typed meanwhile')
    t.same(problems, [])
  })

  t.test('a second tab follows an answer that the first one writes, and sees when that tab is gone', async (t) => {
    const { page, context, problems } = await openBrowserSession(browser, gateway.url)
    t.teardown(() => context.close())
    await openSignedIn(page, gateway, 'lea@example.com', '/chat')
    gateway.demo.script(() => ({ text: `First words. ${'more '.repeat(400)}`, betweenMs: 10 }))
    await sendMessage(page, 'Write something')
    await page.locator('.theirs', { hasText: 'First words' }).waitFor()
    const second = await context.newPage()
    await second.goto('/chat')
    await second.getByRole('button', { name: 'Write something', exact: true }).click()
    const shown = second.locator('.theirs')
    await shown.getByText('Another tab is writing this answer').waitFor()
    t.equal(await second.getByText('The page was left').count(), 0)
    t.equal(await shown.getByRole('button').count(), 0, 'it cannot be continued twice')
    const length = async () => ((await shown.locator('.prose').textContent()) ?? '').length
    const before = await length()
    await waitUntil(async () => (await length()) > before, 'the second tab shows more of it')

    gateway.demo.script(() => ({ text: 'An answer for the second tab.' }))
    await sendMessage(second, 'And here?')
    await shown.nth(1).getByText('An answer for the second tab.').waitFor()
    await page.locator('.theirs', { hasText: 'An answer for the second tab.' }).waitFor()
    await second
      .locator('.theirs')
      .first()
      .getByText(/tokens in/)
      .waitFor()
    for (const tab of [page, second]) t.equal(await tab.locator('.message').count(), 4, 'both tabs have all messages')

    gateway.demo.script(() => ({ text: 'never ending '.repeat(2_000), betweenMs: 10 }))
    await sendMessage(page, 'Go on')
    await shown.nth(2).getByText('Another tab is writing this answer').waitFor()
    // An answer of which nothing was stored can only be written anew.
    await shown.nth(2).getByText('never ending').waitFor()
    await page.close()
    await second.getByText('The page was left while this was written').waitFor()
    await shown.nth(2).getByRole('button', { name: 'Continue' }).waitFor()
    t.same(problems, [])
  })

  t.test('a session that ends in mid-answer loses neither the answer nor the next question', async (t) => {
    const { page, context } = await openBrowserSession(browser, gateway.url)
    t.teardown(() => context.close())
    await openSignedIn(page, gateway, 'rio@example.com', '/chat')
    gateway.demo.script(() => ({ text: `First words. ${'more '.repeat(300)}The last words.`, betweenMs: 5 }))
    await sendMessage(page, 'Write something')
    await page.locator('.theirs', { hasText: 'First words' }).waitFor()
    const { id = '' } = (await gateway.services.store.accounts.find('rio@example.com')) ?? {}
    await gateway.services.store.sessions.endOthers(id, '')
    gateway.services.credentials.invalidateEverywhere(id)
    await page.locator('.theirs', { hasText: 'The last words.' }).waitFor()
    await page.getByText(/tokens in, [\d,]+ out/).waitFor()
    await sendMessage(page, 'And then?')
    await page.getByText('You are not signed in, or your session or key is no longer valid.').waitFor()
    const signIn = page.getByRole('link', { name: 'Sign in again.' })
    t.equal(await signIn.getAttribute('href'), '/sign-in?next=%2Fchat')
    waitForCode()
    await openSignedIn(page, gateway, 'rio@example.com', '/chat')
    await page.locator('.theirs', { hasText: 'The last words.' }).waitFor()
    t.equal(await page.locator('.mine', { hasText: 'And then?' }).count(), 1)
    gateway.demo.script(() => ({ text: 'fine' }))
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.locator('.theirs', { hasText: 'fine' }).waitFor()
  })

  t.test('signing out in another tab keeps the part of an answer that was received', async (t) => {
    const { page, context, problems } = await openBrowserSession(browser, gateway.url)
    t.teardown(() => context.close())
    // Nothing is stored while the answer is written, so only the sign-out can keep it.
    await context.addInitScript('window.setInterval = () => 0')
    await openSignedIn(page, gateway, 'ada@example.com', '/chat')
    gateway.demo.script(() => ({ text: 'never ending '.repeat(2_000), betweenMs: 10 }))
    await sendMessage(page, 'Go on')
    await page.locator('.theirs', { hasText: 'never ending' }).waitFor()
    const second = await context.newPage()
    await second.goto('/docs')
    await pressSignOut(second)
    await second.getByRole('button', { name: 'Keep and sign out' }).click()
    await page.waitForURL((url) => url.pathname === '/sign-in')
    waitForCode()
    await openSignedIn(page, gateway, 'ada@example.com', '/chat')
    await page.getByRole('button', { name: 'Go on', exact: true }).click()
    await page.locator('.theirs', { hasText: 'never ending' }).waitFor()
    await page.getByText('The page was left while this was written').waitFor()
    t.same(problems, [])
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
