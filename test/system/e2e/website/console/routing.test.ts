/**
 * The actions of the pages of routing in Chromium: a product and a target are tried, and a target is taken out for some minutes and brought
 * back. Four looks, in which each width is met with each language, each with a script and without.
 */
import type { Browser } from 'playwright-core'
import t from 'tap'
import type { Test } from 'tap'
import { texts } from '../../../../../src/pages/texts/texts.ts'
import { createOperator, openConsole } from '../../../../support/gateway/operators.ts'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../../support/gateway/test-gateway.ts'
import { findAccessibilityViolations, openBrowserSession, openChromium } from '../../../../support/website/chromium.ts'
import { startLoadMeter } from '../../../../support/website/page-checks.ts'
import { resendForm } from '../../../../support/website/page-form.ts'

interface Look {
  readonly width: 360 | 1280
  readonly language: 'en' | 'zh'
  readonly hasScript: boolean
}

const looks: readonly Look[] = [
  { width: 360, language: 'en', hasScript: true },
  { width: 360, language: 'zh', hasScript: false },
  { width: 1280, language: 'en', hasScript: false },
  { width: 1280, language: 'zh', hasScript: true },
]
const first = 'first/demo-flagship'
const calm = { baseUrl: 'demo', restAfterFailures: 0, rejectedKeyRestMs: 0 } as const
const config = {
  // Each look tries twice.
  limits: { attempts: { 'target-try-by-operator': { times: 8, withinMs: 60_000 } } },
  upstreams: { first: calm, second: calm },
  products: {
    'svc-2.1': {
      targets: [
        { upstream: 'first', model: 'demo-flagship' },
        { upstream: 'second', model: 'demo-flagship', weight: 0 },
      ],
    },
  },
}

const results = {
  en: {
    good: /first\/demo-flagship answered after .*, the first token after .*, status 200/,
    bad: /second\/demo-flagship failed after .* with status 500: upstream_error/,
  },
  zh: {
    good: /first\/demo-flagship 在 .* 后回答，首个 token 在 .* 后，状态码 200/,
    bad: /second\/demo-flagship 在 .* 后失败，状态码 500：upstream_error/,
  },
}

const browser = await openChromium(t)
if (browser !== undefined)
  t.test('a product is tried, and a target is taken out and brought back, once for each form', async (t) => {
    const gateway = await startGateway(t, config)
    const console = await openConsole(gateway, await createOperator(gateway, 'ann@example.com', 'owner'))
    const cookies = [...console.cookies].map(([name, value]) => ({ name, value, url: gateway.url }))
    const { token } = await gateway.createMember()
    for (const look of looks) {
      const operator = await openOperator(browser, gateway, look)
      await operator.context.addCookies(cookies)
      const name = `${look.width} pixels, ${look.language}, ${look.hasScript ? 'with' : 'without'} a script`
      await t.test(name, async (t) => {
        await tryRoutes(t, operator)
        await takeOut(t, operator, token)
      })
      t.same(operator.problems, [])
      await operator.context.close()
    }
  })

async function openOperator(browser: Browser, gateway: TestGateway, look: Look) {
  const { width, language, hasScript } = look
  const session = await openBrowserSession(browser, gateway.url, {
    locale: language === 'en' ? 'en' : 'zh-CN',
    colorScheme: language === 'en' ? 'light' : 'dark',
    viewport: { width, height: 740 },
    javaScriptEnabled: hasScript,
  })
  return { ...session, gateway, look, meter: await startLoadMeter(session), words: texts[language] }
}

type Operator = Awaited<ReturnType<typeof openOperator>>

async function inspect(t: Test, { page, look }: Operator, state: string): Promise<void> {
  // Axe is a script.
  if (look.hasScript) t.same(await findAccessibilityViolations(page), [], state)
  t.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `${state} fits`)
}

async function tryRoutes(t: Test, operator: Operator): Promise<void> {
  const { gateway, page, meter, look, words } = operator
  const { routing } = words.console
  const countTries = async () => (await gateway.services.store.audit.list({ event: 'target_tried', limit: 99 })).length
  const before = await countTries()
  await meter.open('/operator/routing/products/svc-2.1?span=week')
  t.ok(meter.bytes <= 60_000, `${meter.bytes} bytes`)
  const button = page.locator('main').getByRole('button', { name: routing.try })
  await (look.hasScript ? button.dblclick() : button.click())
  const notice = page.locator('.notice[role=status]')
  await notice.waitFor()
  t.match(await notice.innerText(), results[look.language].good)
  t.equal(await page.locator('.routing-spans [aria-current]').innerText(), routing.spans.week, 'the span stays')
  await page.reload()
  t.equal(await notice.innerText(), routing.notices.try_again, 'a reload sends the form again')
  t.equal(await countTries(), before + 1, 'which acts once')

  await meter.open('/operator/routing/upstreams/second')
  t.ok(meter.bytes <= 60_000, `${meter.bytes} bytes`)
  gateway.demo.script(() => ({ status: 500 }))
  await button.click()
  await notice.waitFor()
  gateway.demo.script()
  t.match(await notice.innerText(), results[look.language].bad)
  await inspect(t, operator, 'a failed try')
  t.equal(await countTries(), before + 2)
}

async function takeOut(t: Test, operator: Operator, token: string): Promise<void> {
  const { gateway, page, meter, look, words } = operator
  const { routing, actionForm } = words.console
  const { store, clock } = gateway.services
  const call = async () => {
    await (await gateway.chat(token)).text()
    await gateway.waitUntilSettled()
    return (await gateway.listTurns())[0]?.target
  }
  const listRecords = async (event: 'target_taken_out' | 'target_brought_back') =>
    (await store.audit.list({ event, limit: 99 })).map(({ reason }) => reason).filter((reason) => reason === why)
  const why = `slow at ${look.width} in ${look.language} <b>`
  t.equal(await call(), first)
  await meter.open('/operator/routing/upstreams/first?span=week')
  const ask = (action: string) => page.locator('details.ask', { has: page.locator(`input[name=action][value=${action}]`) })
  const question = ask('take_out')
  const button = question.locator('.form-end button')
  const field = (label: string) => question.locator('.field', { hasText: label })
  await question.locator('summary').click()
  await question.getByLabel(actionForm.reason).fill(why)
  await question.getByLabel(routing.minutes).fill('1441')
  await button.click()
  await field(routing.minutes).locator('.field-error').waitFor()
  t.equal(await field(routing.minutes).locator('.field-error').innerText(), routing.wholeMinutes)
  t.equal(await question.getByLabel(routing.minutes).inputValue(), '1441')
  t.equal(await question.getByLabel(actionForm.reason).inputValue(), why)
  await inspect(t, operator, 'refused minutes')
  await question.getByLabel(routing.minutes).fill('5')
  await question.getByLabel(actionForm.reason).fill('')
  await button.click()
  await field(actionForm.reason).locator('.field-error').waitFor()
  t.equal(await field(actionForm.reason).locator('.field-error').innerText(), words.common.fieldErrors.missing)
  t.equal(await question.getByLabel(routing.minutes).inputValue(), '5')
  t.same(await store.takenOutTargets.list(clock.now()), [])

  await question.getByLabel(actionForm.reason).fill(why)
  const post = page.waitForRequest((request) => request.method() === 'POST')
  await (look.hasScript ? button.dblclick() : button.click())
  await page.waitForURL('**/first?span=week&done=taken_out')
  t.equal(await page.locator('.notice[role=status]').innerText(), routing.notices.taken_out)
  t.match(await page.locator('main').innerText(), new RegExp(`${routing.takenOut}[^]*${why}`))
  t.match(await store.takenOutTargets.list(clock.now()), [{ target: first, reason: why }])
  t.equal(await call(), 'second/demo-flagship')
  await inspect(t, operator, 'a target that is taken out')
  await resendForm(page, await post)
  t.equal(await page.locator('.notice[role=status]').innerText(), words.common.sentBefore)
  t.same(await listRecords('target_taken_out'), [why], 'it acted once')

  const back = ask('bring_back')
  await back.locator('summary').click()
  await back.locator('.form-end button').click()
  await back.locator('.field-error').waitFor()
  t.equal(await back.locator('.field-error').innerText(), words.common.fieldErrors.missing)
  await back.getByLabel(actionForm.reason).fill(why)
  const postBack = page.waitForRequest((request) => request.method() === 'POST')
  await back.locator('.form-end button').click()
  await page.waitForURL(/\/first\b.*done=brought_back$/)
  t.equal(await page.locator('.notice[role=status]').innerText(), routing.notices.brought_back)
  t.equal(await back.count(), 0)
  t.same(await store.takenOutTargets.list(clock.now()), [])
  t.equal(await call(), first)
  await resendForm(page, await postBack)
  t.equal(await page.locator('.notice[role=status]').innerText(), words.common.sentBefore)
  t.same(await listRecords('target_brought_back'), [why], 'it acted once')
}
