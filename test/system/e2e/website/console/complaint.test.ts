/**
 * An operator's day: a member complains that a turn was charged whose answer they did not see. The operator finds and explains it with three
 * clicks, on a phone without a script, and wide with one.
 */
import type { Page } from 'playwright-core'
import t from 'tap'
import { openBrowserSession, openChromium } from '../../../../support/website/chromium.ts'
import { openConsoleStory } from '../../../../support/website/console-story.ts'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'

const looks = [
  {
    find: 'Find',
    aborted: /stopped by the client/i,
    why: /Why it was charged[^]*disconnected before the answer was complete[^]*The rest was released/,
    options: { locale: 'en' },
  },
  {
    find: '查找',
    aborted: /客户端中止/,
    why: /为何计费[^]*客户端在回答完成前断开了连接[^]*其余已释放/,
    options: { locale: 'zh-CN', colorScheme: 'dark', viewport: { width: 360, height: 740 }, javaScriptEnabled: false },
  },
] as const

const browser = await openChromium(t)
if (browser !== undefined)
  t.test('a charged turn is found by its request id, and explained, with three clicks', async (t) => {
    const gateway = await startGateway(t)
    const story = await openConsoleStory(gateway)
    for (const { find, aborted, why, options } of looks) {
      const { context, page, problems } = await openBrowserSession(browser, gateway.url, options)
      await context.addCookies([story.cookie])
      const clicks = countClicks(page)
      await page.goto('/operator/members')
      // What the member sent: the id of the request, which each answer and each error has.
      await page.locator('#q').fill(story.requestId)
      await clicks.on(page.getByRole('button', { name: find }))
      await clicks.on(page.getByRole('link', { name: story.email }))
      await clicks.on(page.locator(`a[href="/operator/turns/${story.turn}"]`).first())
      const shown = await page.locator('main').innerText()
      t.match(shown, why, options.locale)
      t.match(shown, aborted)
      t.match(shown, new Intl.NumberFormat(options.locale).format(story.credits))
      t.match(shown, story.requestId)
      t.equal(clicks.count, 3)
      t.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), 'it fits')
      t.same(problems, [])
      await context.close()
    }
  })

function countClicks(page: Page) {
  const counter = {
    count: 0,
    async on(target: ReturnType<Page['locator']>): Promise<void> {
      counter.count += 1
      await target.click()
      await page.waitForLoadState()
    },
  }
  return counter
}
