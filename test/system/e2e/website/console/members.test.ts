/**
 * Every action of a member's page in Chromium. Each is done twice, in two looks that differ in all three of width, language and script, so that
 * each is done at 360 and at 1280 pixels, in English and in Chinese, with a script and without; the pairs of looks alternate.
 */
import type { Browser, Locator, Page } from 'playwright-core'
import t from 'tap'
import type { Test } from 'tap'
import type { AuditEvent } from '../../../../../src/domain/identity/audit.ts'
import { texts } from '../../../../../src/pages/texts/texts.ts'
import type { Texts } from '../../../../../src/pages/texts/en.ts'
import { createOperator, openConsole } from '../../../../support/gateway/operators.ts'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../../support/gateway/test-gateway.ts'
import { WebsiteClient, waitUntilEmails } from '../../../../support/gateway/website-client.ts'
import { findAccessibilityViolations, openBrowserSession, openChromium } from '../../../../support/website/chromium.ts'
import { startLoadMeter } from '../../../../support/website/page-checks.ts'
import { resendForm } from '../../../../support/website/page-form.ts'

interface Look {
  readonly width: 360 | 1280
  readonly language: 'en' | 'zh'
  readonly hasScript: boolean
}

/** The second of a pair has nothing of the first. */
const looks: readonly (readonly [Look, Look])[] = [
  [
    { width: 360, language: 'en', hasScript: true },
    { width: 1280, language: 'zh', hasScript: false },
  ],
  [
    { width: 360, language: 'zh', hasScript: true },
    { width: 1280, language: 'en', hasScript: false },
  ],
  [
    { width: 1280, language: 'en', hasScript: true },
    { width: 360, language: 'zh', hasScript: false },
  ],
  [
    { width: 1280, language: 'zh', hasScript: true },
    { width: 360, language: 'en', hasScript: false },
  ],
]

interface Member {
  readonly id: string
  readonly email: string
  readonly token: string
}

interface MemberAction {
  readonly action: string
  readonly event: AuditEvent
  readonly done: keyof Texts['console']['member']['notices']
  readonly typed?: Readonly<Record<string, string>>
  /** What its field refuses, with which words. */
  readonly refused?: { readonly name: string; readonly value: string; readonly words: (t: Texts) => string }
  readonly prepare?: (gateway: TestGateway, member: Member) => Promise<void>
  /** The page and the service after it. */
  readonly check: (t: Test, now: { gateway: TestGateway; member: Member; page: Page; words: Texts }) => Promise<void>
}

const untilDay = new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10)
const provider = 'acme'
const newAddress = (email: string): string => `new-${email}`

const actions: readonly MemberAction[] = [
  {
    action: 'set_plan',
    event: 'plan_changed',
    done: 'plan_set',
    typed: { plan: 'pro', until: untilDay },
    refused: { name: 'until', value: '2020-01-01', words: (t) => t.console.member.futureDay },
    async check(t, { gateway, member, page }) {
      const end = gateway.services.calendar.getDayStart(untilDay) ?? 0
      t.match(await gateway.services.store.accounts.find(member.id), { plan: 'pro', planUntil: end })
      const facts = page.locator('.facts').first()
      t.match(await facts.innerText(), /\bpro\b/)
      t.equal(await facts.locator('time').first().getAttribute('datetime'), new Date(end).toISOString())
    },
  },
  {
    action: 'adjust',
    event: 'credits_adjusted',
    done: 'adjusted',
    typed: { pool: 'premium', credits: '5 000', expires_at: untilDay },
    refused: { name: 'credits', value: '1.5', words: (t) => t.console.member.wholeCredits },
    async check(t, { gateway, member, page }) {
      const { lines } = await gateway.services.membership.turnHistory.readStatement(member.id, { limit: 9 })
      t.same(
        lines.map(({ kind, credits, packsLeft }) => [kind, credits, packsLeft]),
        [['adjust', 5000, 5000]],
      )
      t.match(await page.locator('.packs').innerText(), /5,000/)
      t.match(await page.locator('section', { has: page.locator('#title-statement') }).innerText(), /\+5,000/)
    },
  },
  {
    action: 'send_email',
    event: 'sign_in_email_sent',
    done: 'email_sent',
    async check(_, { gateway, member }) {
      await waitUntilEmails(gateway, member.email, 1)
    },
  },
  {
    action: 'change_email',
    event: 'email_changed',
    done: 'email_changed',
    refused: { name: 'email', value: 'nonsense', words: (t) => t.common.fieldErrors.email },
    async check(t, { gateway, member, page }) {
      t.equal(await page.locator('h1').innerText(), newAddress(member.email))
      t.equal((await gateway.services.store.accounts.find(member.id))?.email, newAddress(member.email))
      await waitUntilEmails(gateway, member.email, 1)
      await waitUntilEmails(gateway, newAddress(member.email), 1)
    },
  },
  {
    action: 'end_sessions',
    event: 'session_ended',
    done: 'sessions_ended',
    async prepare(gateway, { email }) {
      await new WebsiteClient(gateway).signIn(email)
    },
    async check(t, { gateway, member, page }) {
      t.equal(await page.locator('#title-sessions').count(), 0)
      t.same(await gateway.services.membership.sessions.list(member.id), [])
    },
  },
  {
    action: 'disable',
    event: 'account_disabled',
    done: 'disabled',
    async check(t, { gateway, member, page, words }) {
      t.equal(await page.locator('.page-head .badge').innerText(), words.console.statuses.disabled)
      t.equal(await useKey(gateway, member), 401)
    },
  },
  {
    action: 'enable',
    event: 'account_enabled',
    done: 'enabled',
    async prepare({ services }, { id }) {
      await services.store.accounts.setStatus(id, 'disabled')
    },
    async check(t, { gateway, member, page, words }) {
      t.equal(await page.locator('.page-head .badge').innerText(), words.console.statuses.active)
      t.equal(await useKey(gateway, member), 200)
    },
  },
  {
    action: 'revoke_key',
    event: 'key_revoked',
    done: 'key_revoked',
    async check(t, { gateway, member, page, words }) {
      const keys = page.locator('section', { has: page.locator('#title-keys') })
      t.match(await keys.locator('tbody').innerText(), words.console.member.revoked)
      t.equal(await useKey(gateway, member), 401)
    },
  },
  {
    action: 'unlink',
    event: 'provider_unlinked',
    done: 'unlinked',
    async prepare({ services }, { id }) {
      await services.store.providerIdentities.link(provider, id, id, services.clock.now())
    },
    async check(t, { gateway, member, page }) {
      t.equal(await page.locator('#title-providers').count(), 0)
      t.same(await gateway.services.store.providerIdentities.listProviders(member.id), [])
    },
  },
]

const browser = await openChromium(t)
if (browser !== undefined)
  t.test('each action of a member’s page shows what it did, keeps what was refused, and acts once', async (t) => {
    const gateway = await startGateway(t)
    const console = await openConsole(gateway, await createOperator(gateway, 'ann@example.com', 'owner'))
    const cookies = [...console.cookies].map(([name, value]) => ({ name, value, url: gateway.url }))
    for (const [nth, pair] of looks.entries())
      for (const look of pair) {
        const operator = await openOperator(browser, gateway, cookies, look)
        await t.test(`${look.width} pixels, ${look.language}, ${look.hasScript ? 'with' : 'without'} a script`, async (t) => {
          for (const action of actions.filter((_, index) => index % looks.length === nth)) await act(t, operator, action)
        })
        t.same(operator.problems, [])
        await operator.context.close()
      }
  })

type Cookies = Parameters<Awaited<ReturnType<typeof openBrowserSession>>['context']['addCookies']>[0]

async function openOperator(browser: Browser, gateway: TestGateway, cookies: Cookies, look: Look) {
  const { width, language, hasScript } = look
  const session = await openBrowserSession(browser, gateway.url, {
    locale: language === 'en' ? 'en' : 'zh-CN',
    colorScheme: language === 'en' ? 'light' : 'dark',
    viewport: { width, height: 740 },
    javaScriptEnabled: hasScript,
  })
  await session.context.addCookies(cookies)
  const member = await gateway.createMember('free')
  const meter = await startLoadMeter(session)
  return { ...session, gateway, look, member, meter, words: texts[language] }
}

type Operator = Awaited<ReturnType<typeof openOperator>>

async function act(t: Test, operator: Operator, { action, event, done, typed = {}, refused, prepare, check }: MemberAction) {
  const { gateway, page, member, meter, look, words } = operator
  await prepare?.(gateway, member)
  await meter.open(`/operator/members/${member.id}`)
  t.ok(meter.bytes <= 60_000, `${action}: ${meter.bytes} bytes`)
  const inspect = async (state: string) => {
    t.equal(await page.evaluate('document.documentElement.lang'), look.language === 'en' ? 'en' : 'zh-CN')
    t.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `${action}: ${state} fits`)
  }
  const form = page.locator('form', { has: page.locator(`input[name=action][value=${action}]`) })
  const open = () => page.locator('details.ask', { has: form }).locator('summary').click()
  const fill = async (values: Readonly<Record<string, string>>) => {
    for (const [name, value] of Object.entries(values)) await fillField(form.locator(`[name=${name}]`), value)
  }
  const submit = form.locator('.form-end button')
  const reason = `because of ${action} <b>`
  const values: Readonly<Record<string, string>> = {
    ...typed,
    ...(action === 'change_email' ? { email: newAddress(member.email) } : {}),
    reason,
  }
  await open()
  // With a script the reason is missing, and without one another field is wrong, where the form has another one.
  const { name, value, words: toWords } = (look.hasScript ? undefined : refused) ?? missingReason
  await fill({ ...values, [name]: value })
  await submit.click()
  const field = form.locator('.field', { has: page.locator(`[name=${name}]`) })
  await field.locator('.field-error').waitFor()
  t.equal(await field.locator('.field-error').innerText(), toWords(words), `${action}: words at the field`)
  t.equal(await field.locator('[aria-invalid=true]').count(), 1)
  for (const [other, before] of Object.entries({ ...values, [name]: value }))
    t.equal(await form.locator(`[name=${other}]`).inputValue(), before, `${action}: ${other} stays`)
  t.same(await listRecords(gateway, member, event), [], `${action}: nothing was changed`)
  await inspect('the refused form')
  // Axe is a script.
  if (look.hasScript) t.same(await findAccessibilityViolations(page), [], action)

  await fill({ [name]: values[name] ?? '' })
  const post = page.waitForRequest((request) => request.method() === 'POST')
  if (look.hasScript) await submit.dblclick()
  else await submit.click()
  await page.waitForURL(`**/${member.id}?done=${done}`)
  t.equal(await page.locator('.notice[role=status]').innerText(), words.console.member.notices[done], action)
  await inspect('the result')
  await check(t, { gateway, member, page, words })
  t.match(await page.locator('section', { has: page.locator('#title-log') }).innerText(), `“${reason}”`)
  if (!look.hasScript) {
    await resendForm(page, await post)
    const notice = page.locator('.notice[role=status]', { hasText: words.common.sentBefore })
    await notice.waitFor()
    // What adds up if it acts twice.
    if (action === 'adjust') await page.reload()
    await notice.waitFor()
    await check(t, { gateway, member, page, words })
  }
  const records = await listRecords(gateway, member, event)
  t.same(
    records.map((record) => record.reason),
    [reason],
    `${action}: it acted once`,
  )
}

const missingReason = { name: 'reason', value: '', words: (t: Texts) => t.common.fieldErrors.missing }

async function fillField(field: Locator, value: string): Promise<void> {
  if ((await field.and(field.page().locator('select')).count()) > 0) await field.selectOption(value)
  else await field.fill(value)
}

function listRecords({ services }: TestGateway, { id }: Member, event: AuditEvent) {
  return services.store.audit.list({ account: id, event, limit: 9 })
}

async function useKey({ url }: TestGateway, { token }: Member): Promise<number> {
  return (await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${token}` } })).status
}
