/**
 * Every page as its readers meet it, signed out and signed in: in English and light on a desk, in Chinese and dark on a phone. What axe
 * finds is a matter of the language, the colours or the width, and each of these has its turn; whether a page fits a phone is asked in both
 * languages, because English words are the longer ones.
 */
import t from 'tap'
import type { Test } from 'tap'
import { pages } from '../../src/pages/pages.ts'
import { barriers, openChromium, visitor } from '../support/chromium.ts'
import type { Visitor } from '../support/chromium.ts'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { openAs } from '../support/site.ts'

/** Those with a part that only a request gives are looked at where there is one: `test/journeys/connect.test.ts`. */
const pathsFor = (...whom: readonly string[]): string[] =>
  pages.filter((page) => whom.includes(page.for) && !page.path.includes(':')).map(({ path }) => path)

const open = [...pathsFor('everyone', 'guests'), '/sign-in?invite=ABC', '/no-such-page']
const members = [...pathsFor('everyone', 'members'), '/no-such-page']

const desk = { width: 1280, height: 800 }
const phone = { width: 360, height: 740 }

const browser = await openChromium(t)
if (browser !== undefined)
  t.test('no page keeps anybody out: axe, the content policy, 360 pixels', async (t) => {
    const gateway = await startGateway(t)
    const somebody = await visitor(browser, gateway.url, { locale: 'en', colorScheme: 'light', viewport: desk })
    const reader = { locale: 'zh', colorScheme: 'dark', viewport: phone } as const
    const guest = await visitor(browser, gateway.url, reader)
    for (const path of open) await inspect(t, path, somebody, guest)
    await fillAccount(gateway, somebody)
    const member = await visitor(browser, gateway.url, { ...reader, storageState: await somebody.context.storageState() })
    for (const path of members) await inspect(t, path, somebody, member)
    for (const { context, problems } of [somebody, guest, member]) {
      t.same(problems, [], 'no script failed, nothing was refused, nothing was loaded from elsewhere')
      await context.close()
    }
  })

async function inspect(t: Test, path: string, atDesk: Visitor, onPhone: Visitor): Promise<void> {
  await look(t, path, atDesk, 'en')
  await atDesk.page.setViewportSize(phone)
  t.ok(await fits(atDesk), `${path} fits a phone in English`)
  await atDesk.page.setViewportSize(desk)
  await look(t, path, onPhone, 'zh-CN')
  t.ok(await fits(onPhone), `${path} fits a phone in Chinese`)
}

async function look(t: Test, path: string, { page }: Visitor, language: string): Promise<void> {
  await page.goto(path)
  // A locator, not a function: a page under our content policy may not be asked to evaluate text again and again.
  await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
  t.equal(await page.evaluate('document.documentElement.lang'), language, `${path} is in the reader’s language`)
  const shown = String(await page.evaluate('document.body.innerText'))
  t.notMatch(shown, /\b(undefined|NaN|null|false)\b|\[object|(?<!\$)\{\w+\}|Invalid Date/, `${path} shows no value that is none`)
  t.same(await barriers(page), [], `${path} has no serious barrier (${language})`)
}

function fits({ page }: Visitor): Promise<unknown> {
  return page.evaluate('document.documentElement.scrollWidth <= 360')
}

/** Signs in and leaves something to see on each page. */
async function fillAccount(gateway: TestGateway, { page }: Visitor): Promise<void> {
  await openAs(page, gateway, 'mei@example.com', '/account')
  await page.getByRole('button', { name: 'Check in' }).click()
  await page.getByText('credits added').waitFor()
  await page.goto('/chat')
  await page.getByRole('textbox', { name: 'Message' }).fill('Hello')
  await page.keyboard.press('Enter')
  await page.getByText(/tokens in, \d+ out/).waitFor()
  await page.goto('/keys')
  await page.getByLabel('Name').fill('laptop')
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByRole('row', { name: /laptop/ }).waitFor()
}
