/** Looks at every page as a reader of one language and one colour scheme does, signed out and signed in. */
import type { Test } from 'tap'
import { barriers, openChromium, visitor } from './chromium.ts'
import type { Visitor } from './chromium.ts'
import { startGateway } from './gateway.ts'
import type { TestGateway } from './gateway.ts'
import { pages } from '../../src/pages/pages.ts'
import { openAs } from './site.ts'

/** Those with a part that only a request gives are looked at where there is one: `test/journeys/connect.test.ts`. */
const pathsFor = (...whom: readonly string[]): string[] =>
  pages.filter((page) => whom.includes(page.for) && !page.path.includes(':')).map(({ path }) => path)

const open = [...pathsFor('everyone', 'guests'), '/sign-in?invite=ABC', '/no-such-page']
const members = [...pathsFor('everyone', 'members'), '/no-such-page']

export interface Reader {
  readonly language: 'en' | 'zh'
  readonly colorScheme: 'light' | 'dark'
}

export async function inspectEveryPage(t: Test, { language, colorScheme }: Reader): Promise<void> {
  const browser = await openChromium(t)
  if (browser === undefined) return
  t.test('no page keeps anybody out: axe, the content policy, 360 pixels', async (t) => {
    const gateway = await startGateway(t)
    const somebody = await visitor(browser, gateway.url, { locale: language, colorScheme })
    t.teardown(() => somebody.context.close())
    for (const path of open) await inspect(t, path, somebody, language)
    await fillAccount(gateway, somebody)
    for (const path of members) await inspect(t, path, somebody, language)
    t.same(somebody.problems, [], 'no script failed, nothing was refused, nothing was loaded from elsewhere')
  })
}

async function inspect(t: Test, path: string, { page }: Visitor, language: string): Promise<void> {
  await page.setViewportSize({ width: 1280, height: 800 })
  await page.goto(path)
  // A locator, not a function: a page under our content policy may not be asked to evaluate text again and again.
  await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
  t.equal(
    await page.evaluate('document.documentElement.lang'),
    language === 'zh' ? 'zh-CN' : 'en',
    `${path} is in the reader’s language`,
  )
  const shown = String(await page.evaluate('document.body.innerText'))
  t.notMatch(shown, /\b(undefined|NaN|null|false)\b|\[object|(?<!\$)\{\w+\}|Invalid Date/, `${path} shows no value that is none`)
  t.same(await barriers(page), [], `${path} has no serious barrier`)
  await page.setViewportSize({ width: 360, height: 740 })
  t.ok(await page.evaluate('document.documentElement.scrollWidth <= 360'), `${path} fits a phone`)
  t.same(await barriers(page), [], `${path} has no serious barrier on a phone`)
}

/** Signs in and leaves something to see on each page. */
async function fillAccount(gateway: TestGateway, { page, context }: Visitor): Promise<void> {
  await context.addCookies([{ name: 'svc_language', value: 'en', url: gateway.url }])
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
  await context.clearCookies({ name: 'svc_language' })
}
