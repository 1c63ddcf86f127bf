/** Usage alerts through a real SMTP server: one email for each window and level, whatever happens to the server, the clock or the mail. */
import { createServer } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import type { Pool } from '../../../../src/domain/billing/catalog/product.ts'
import type { Reader } from '../../../../src/domain/identity/reader.ts'
import { createTemporaryFolder, startGateway, waitUntil } from '../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../support/gateway/test-gateway.ts'
import { startSmtpServer } from '../../../support/servers/smtp-server.ts'
import type { SmtpServer } from '../../../support/servers/smtp-server.ts'
import { createClock } from '../../../../src/system/clock.ts'

const limits = { day: 1_000, week: 100_000, month: 100_000 }
const minute = 60_000
const day = 24 * 60 * minute
/** A Wednesday in the middle of a month. */
const noon = Date.UTC(2026, 4, 13, 12)
const english: Reader = { language: 'en', timeZone: 'Europe/Berlin' }
const never = new AbortController().signal

interface Setting {
  readonly gateway: TestGateway
  readonly member: { readonly id: string; readonly email: string }
  readonly clock: { at: number }
  use(credits: number, pool?: Pool): Promise<void>
  sendDue(): Promise<void>
}

async function startWithMember(
  t: Test,
  smtpUrl: string,
  options: { readonly reader?: Reader; readonly dataDir?: string; readonly at?: number } = {},
): Promise<Setting> {
  const clock = { at: options.at ?? noon }
  const pools = { fast: limits, premium: limits }
  const gateway = await startGateway(
    t,
    {
      mail: { smtpUrl, from: 'svc@example.com' },
      plans: { free: { pools } },
      ...(options.dataDir === undefined ? {} : { store: { dataDir: options.dataDir } }),
    },
    { clock: createClock({ now: () => clock.at }) },
  )
  const { membership, store } = gateway.services
  const [known] = await store.accounts.list({ limit: 1 })
  const member = known === undefined ? await gateway.createAccount('free') : { id: known.id, email: known.email ?? '' }
  if (known === undefined) await membership.usageAlerts.setSubscribed(member.id, true, options.reader ?? english)
  return {
    gateway,
    member,
    clock,
    use: (credits, pool = 'premium') => use(gateway, { account: member.id, credits, pool, at: clock.at }),
    sendDue: () => membership.usageAlerts.sendDue(never),
  }
}

async function use(
  { services: { ledger, calendar, clock } }: TestGateway,
  {
    account,
    credits,
    pool,
    at,
  }: { readonly account: string; readonly credits: number; readonly pool: Pool; readonly at: number },
): Promise<void> {
  const reservation = await ledger.reserve({
    account,
    requestId: 'mbr_1',
    model: 'svc-2.1',
    pool,
    at,
    periods: calendar.getPeriods(at),
    limits,
    amount: credits,
    minAmount: credits,
    price: { input: 435, output: 870, discountPercent: 0 },
    leaseUntil: Math.round(clock.monotonicMs()) + 10 * minute,
    idempotency: null,
    maxConcurrentTurns: 10,
  })
  if (reservation.kind !== 'held') throw new Error(`no hold: ${reservation.kind}`)
  await ledger.settle({
    hold: reservation.hold.id,
    at,
    credits,
    tokens: { input: 1, output: 1 },
    estimated: false,
    outcome: 'completed',
    target: 'main/model',
    upstreamStatus: 200,
  })
}

/** Headers and text, without the transfer encoding. */
function readSource({ received }: SmtpServer, index: number): string {
  const source = (received[index]?.text ?? '').replaceAll(/=\r?\n/g, '')
  return Buffer.from(
    source.replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  ).toString('utf8')
}

t.test('sends one email at 80 % and one at 100 %, and none again after a restart or when the clock steps back', async (t) => {
  const smtp = await startSmtpServer(t)
  const dataDir = createTemporaryFolder(t)
  const first = await startWithMember(t, smtp.url, { dataDir })
  await first.use(799)
  await first.sendDue()
  t.equal(smtp.received.length, 0, 'nothing below 80 %')
  await first.use(1)
  await first.sendDue()
  t.equal(smtp.received.length, 1)
  t.same(smtp.received[0]?.to, [first.member.email])
  const mail = readSource(smtp, 0)
  t.match(mail, "Subject: svc: 80 % of today's Premium usage is used")
  t.match(mail, "800 of today's 1,000 credits for Premium models are used. They reset on 14 May 2026 at 02:00 CEST.")
  t.match(mail, `${first.gateway.url}/plans`)
  t.notMatch(mail, '/account/boosts', 'no boost is named that does not help: the check-in adds Fast credits')

  await first.sendDue()
  await first.use(10)
  await first.sendDue()
  first.clock.at -= 3 * day
  await first.sendDue()
  await first.gateway.close()
  t.equal(smtp.received.length, 1)

  const second = await startWithMember(t, smtp.url, { dataDir, at: noon + minute })
  await second.sendDue()
  await second.use(10)
  await second.sendDue()
  t.equal(smtp.received.length, 1, 'the restarted server sends no second one')
  await second.use(180)
  await second.sendDue()
  await second.sendDue()
  t.equal(smtp.received.length, 2)
  const usedUp = readSource(smtp, 1)
  t.match(usedUp, "Subject: svc: today's Premium usage is used up")
  t.match(usedUp, 'Your usage of Fast models has room')

  second.clock.at += day
  await second.use(850)
  await second.sendDue()
  t.equal(smtp.received.length, 3, 'the next day has emails of its own')
})

t.test('a window that is used up at once gets the email of 100 % alone, in the language and zone of the member', async (t) => {
  const smtp = await startSmtpServer(t)
  const { use, sendDue } = await startWithMember(t, smtp.url, { reader: { language: 'zh', timeZone: 'Asia/Shanghai' } })
  await use(1_000, 'fast')
  await sendDue()
  await sendDue()
  t.equal(smtp.received.length, 1)
  const mail = readSource(smtp, 0)
  t.match(mail, '今日的快速模型额度共 1,000 点，已使用 1,000 点，将于 2026年5月14日 08:00 GMT+8 重置。')
  t.match(mail, '领取加油包可获得', 'the check-in adds Fast credits')
})

t.test('sends nothing to a member who did not switch it on, has switched it off, or is gone', async (t) => {
  const smtp = await startSmtpServer(t)
  const { gateway, member, clock, use: useOwn, sendDue } = await startWithMember(t, smtp.url)
  const other = await gateway.createAccount('free')
  await use(gateway, { account: other.id, credits: 900, pool: 'fast', at: clock.at })
  const gone = await gateway.createAccount('free')
  await gateway.services.membership.usageAlerts.setSubscribed(gone.id, true, english)
  await use(gateway, { account: gone.id, credits: 900, pool: 'fast', at: clock.at })
  await gateway.services.store.accounts.erase(gone.id, clock.at)
  await useOwn(900)
  await gateway.services.membership.usageAlerts.setSubscribed(member.id, false, english)
  await sendDue()
  t.equal(smtp.received.length, 0)
})

t.test('a larger plan between the alert and its email makes it pointless, so none is sent', async (t) => {
  const smtp = await startSmtpServer(t, { temporaryFailures: 1 })
  const { gateway, member, clock, use, sendDue } = await startWithMember(t, smtp.url)
  await use(900)
  await sendDue()
  await gateway.services.store.accounts.setPlan(member.id, 'max')
  clock.at += minute
  await sendDue()
  t.equal(smtp.received.length, 0)
})

t.test(
  'tries again with growing pauses while the mail server is down, and drops the email when its window is over',
  async (t) => {
    const port = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => port.once('listening', resolve))
    let attempts = 0
    port.on('connection', (socket) => {
      attempts += 1
      socket.destroy()
    })
    t.teardown(() => port.close())
    const { port: number } = port.address() as { readonly port: number }
    const { gateway, member, clock, use, sendDue } = await startWithMember(t, `smtp://127.0.0.1:${number}`)
    await use(900)
    const pauses: number[] = []
    for (let last = clock.at; pauses.length < 9; clock.at += minute) {
      const before = attempts
      await sendDue()
      if (attempts === before) continue
      pauses.push((clock.at - last) / minute)
      last = clock.at
    }
    t.same(pauses, [0, 1, 2, 4, 8, 16, 32, 60, 60])
    const turn = await gateway.services.ledger.balance({
      account: member.id,
      at: clock.at,
      periods: gateway.services.calendar.getPeriods(clock.at),
      limits: { fast: limits, premium: limits },
    })
    t.equal(turn.pools.find(({ pool, window }) => pool === 'premium' && window === 'day')?.used, 900, 'turns go on meanwhile')
    clock.at = noon + day
    const before = attempts
    await sendDue()
    t.equal(attempts, before)
    t.notOk(gateway.log.join('').includes(member.email), 'no address in the log')
  },
)

t.test('a connection that ends after the content was sent costs no second email', async (t) => {
  const smtp = await startSmtpServer(t)
  const { clock, use, sendDue } = await startWithMember(t, smtp.url)
  await use(900)
  const resume = smtp.pauseReplies()
  const sending = sendDue()
  await waitUntil(() => smtp.pendingRecipients.length === 1, 'the content')
  smtp.closeConnections()
  await sending
  resume()
  await waitUntil(() => smtp.received.length === 1, 'the email that the server had')
  clock.at += 2 * 60 * minute
  await use(1)
  await sendDue()
  t.equal(smtp.received.length, 1)
})

t.test('a temporary refusal is followed by one email, a final one by none', async (t) => {
  const smtp = await startSmtpServer(t, { temporaryFailures: 1 })
  const { clock, use, sendDue } = await startWithMember(t, smtp.url)
  await use(900)
  await sendDue()
  t.equal(smtp.received.length, 0)
  await sendDue()
  t.equal(smtp.received.length, 0, 'not before the pause is over')
  clock.at += minute
  await sendDue()
  t.equal(smtp.received.length, 1)

  const refusing = await startSmtpServer(t, { refusedRecipient: 'member-1@example.com', refusalCode: 550 })
  const refused = await startWithMember(t, refusing.url)
  await refused.use(900)
  await refused.sendDue()
  const connections = refusing.countConnections()
  refused.clock.at += 60 * minute
  await refused.sendDue()
  t.equal(refusing.countConnections(), connections, 'the server has refused it for good')
})

t.test('the link in the email and the one-click POST of mail programs switch it off without a sign-in', async (t) => {
  const smtp = await startSmtpServer(t)
  const { gateway, member, use, sendDue } = await startWithMember(t, smtp.url)
  const isOn = () => gateway.services.membership.usageAlerts.isSubscribed(member.id)
  await use(800)
  await sendDue()
  const mail = readSource(smtp, 0)
  const [, link = ''] = /^List-Unsubscribe:\s+<(\S+)>\r?$/m.exec(mail) ?? []
  t.match(mail, /^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r?$/m)
  t.ok(mail.split('List-Unsubscribe-Post')[1]?.includes(link), 'the text has the same link')

  const page = await fetch(link)
  t.equal(page.status, 200)
  t.match(await page.text(), `action="${link.slice(gateway.url.length)}"`)
  t.equal(await isOn(), true, 'a scanner that opens the link changes nothing')
  t.equal(
    (
      await fetch(
        link.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
        { method: 'POST' },
      )
    ).status,
    403,
  )
  t.equal((await fetch(`${gateway.url}/unsubscribe`, { headers: { accept: 'text/html' } })).status, 403)
  t.equal(await isOn(), true)

  const oneClick = await fetch(link, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'cross-site' },
    body: 'List-Unsubscribe=One-Click',
  })
  t.equal(oneClick.status, 200)
  t.match(await oneClick.text(), 'Switched off.')
  t.equal(await isOn(), false)
  await use(200)
  await sendDue()
  t.equal(smtp.received.length, 1)
})
