/** The components of the site as the style guide shows them, on paper, and in forced colours. */
import t from 'tap'
import { openBrowserSession, openChromium } from '../../../support/website/chromium.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import { startStyleguide } from '../../pages/styleguide/server.ts'
import { openSignedIn } from '../../../support/website/sign-in.ts'

/** A property of the first element of this selector, as the browser computes it. */
const readStyle = (selector: string, property: string) =>
  `getComputedStyle(document.querySelector(${JSON.stringify(selector)})).getPropertyValue('${property}')`

const browser = await openChromium(t)
if (browser !== undefined) {
  t.test('tooltip, toast and drawer work by keyboard', async (t) => {
    const gateway = await startGateway(t)
    const styleguide = await startStyleguide(gateway.url)
    t.teardown(() => styleguide.close())
    const { page, context, problems } = await openBrowserSession(browser, styleguide.url)
    await page.goto('/styleguide')
    const tip = page.locator('.tooltip')
    await page.getByRole('button', { name: 'Tooltip' }).focus()
    await page.keyboard.press('Shift+Tab')
    await page.keyboard.press('Tab')
    await tip.waitFor()
    t.equal(await tip.textContent(), 'Tooltip')
    await page.keyboard.press('Escape')
    t.equal(await tip.count(), 0, 'Escape hides it')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByText('Deleted.').waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Restored.', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Drawer' }).click()
    const drawer = page.getByRole('dialog', { name: 'Drawer' })
    await drawer.getByText('This stands in the page').waitFor()
    await page.keyboard.press('Escape')
    await drawer.waitFor({ state: 'hidden' })
    await page.getByText('This stands in the page').waitFor()
    t.same(problems, [])
    await context.close()
  })

  t.test('pages print in black on white without navigation, and keep their marks in forced colours', async (t) => {
    const gateway = await startGateway(t)
    const { page, context, problems } = await openBrowserSession(browser, gateway.url, { colorScheme: 'dark' })
    await openSignedIn(page, gateway, 'mei@example.com', '/keys')
    await page.getByLabel('Name').fill('laptop')
    await page.getByRole('button', { name: 'Create key' }).click()
    const token = (await page.getByRole('region', { name: 'Key', exact: true }).textContent()) ?? ''
    await gateway.chat(token, { model: 'auto' })
    for (const path of ['/docs?theme=dark', '/plans', '/account']) {
      await page.goto(path)
      await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
      await page.emulateMedia({ media: 'print' })
      t.equal(await page.evaluate(readStyle('body', 'background-color')), 'rgb(255, 255, 255)', path)
      t.equal(await page.evaluate(readStyle('body', 'color')), 'rgb(0, 0, 0)', path)
      t.equal(await page.locator('nav:visible, main .button:visible').count(), 0, `${path} has nothing to press`)
      if (path.startsWith('/docs')) t.equal(await page.evaluate(readStyle('pre code', 'color')), 'rgb(0, 0, 0)')
      await page.emulateMedia({ media: null })
    }
    t.ok(await page.locator('.rows li').first().isVisible(), 'with the turn')
    await page.emulateMedia({ forcedColors: 'active' })
    t.not(
      await page.evaluate(readStyle('.meter .used', 'background-color')),
      await page.evaluate(readStyle('.meter', 'background-color')),
      'what is used differs from what is left',
    )
    t.equal(await page.evaluate(readStyle('.meter', 'border-top-style')), 'solid')
    t.not(await page.evaluate(readStyle('.chart rect:not(.chart-chosen)', 'stroke')), 'none', 'bars have an outline')
    t.match(await page.evaluate(readStyle('.rail [aria-current]', 'text-decoration-line')), 'underline')
    t.equal(await page.evaluate(readStyle('.badge', 'border-top-style')), 'solid')
    await page.locator('.rail a').first().focus()
    await page.keyboard.press('Tab')
    t.equal(await page.evaluate(readStyle(':focus', 'outline-style')), 'solid', 'the focus is seen')
    t.same(problems, [])
    await context.close()
  })
}
