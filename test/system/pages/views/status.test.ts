/** `/status`: what strangers see of the turns of members, and what they do not. */
import t from 'tap'
import type { Test } from 'tap'
import { createClock, systemClock } from '../../../../src/system/clock.ts'
import { minStatusAccounts, minStatusTurns } from '../../../../src/services/health/service-status.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../support/gateway/test-gateway.ts'
import { WebsiteClient } from '../../../support/gateway/website-client.ts'

const minuteMs = 60_000

async function open(t: Test) {
  const start = Date.parse('2026-11-29T06:05:00Z')
  const time = { passed: 0 }
  const { monotonicMs } = systemClock
  const clock = createClock({ now: () => start + time.passed, monotonicMs: () => monotonicMs() + time.passed })
  const gateway = await startGateway(t, { site: { status: true } }, { clock })
  const members = []
  for (let count = 0; count < minStatusAccounts; count++) members.push(await gateway.createMember())
  const show = async () => {
    const { status, body, headers } = await new WebsiteClient(gateway).get(`${gateway.url}/status`)
    t.equal(status, 200)
    t.equal(headers.get('cache-control'), 'private, no-store')
    return findCells(body as string)
  }
  return { gateway, members, show, time }
}

/** The cells of each product, of the day and then of the month, without what is for screen readers alone. */
function findCells(body: string): Readonly<Record<string, readonly string[]>> {
  const rows = [...body.matchAll(/<tr role="row">\s*<th scope="row"[^]*?<\/tr>/g)].map(([row]) =>
    [...row.matchAll(/<span class="cell">([^]*?)<\/span>\s*<\/t[hd]>/g)].map(([, cell = '']) =>
      cell
        .replaceAll(/<span class="unseen">[^<]*<\/span>/g, '')
        .replaceAll(/<[^>]*>/g, '')
        .trim(),
    ),
  )
  const products: Record<string, string[]> = {}
  for (const [name = '', ...cells] of rows) (products[name] ??= []).push(...cells)
  return products
}

async function chat({ chat: send, demo }: TestGateway, token: string, count: number, status = 200): Promise<void> {
  const tooLong = { error: { message: 'no', code: 'context_length_exceeded' } }
  demo.script(() => (status === 200 ? {} : { status, ...(status === 400 ? { body: tooLong } : {}) }))
  for (let sent = 0; sent < count; sent += 20)
    await Promise.all(
      Array.from({ length: Math.min(20, count - sent) }, async () => (await send(token, { stream: true })).text()),
    )
  demo.script()
}

async function collect({ services, waitUntilSettled }: TestGateway): Promise<void> {
  await waitUntilSettled()
  const { membership, clock } = services
  await membership.turnHistory.collect(90, { clock, signal: new AbortController().signal })
}

t.test('a figure of few turns or few accounts is not shown', async (t) => {
  const { gateway, members, show, time } = await open(t)
  const [first, ...others] = members
  t.same((await show())['Svc 2.1'], ['–', '–', '–', '–'])
  await chat(gateway, first?.token ?? '', minStatusTurns + 20)
  await collect(gateway)
  time.passed += minuteMs
  t.same((await show())['Svc 2.1'], ['–', '–', '–', '–'], 'many turns of one account')
  for (const { token } of others) await chat(gateway, token, 1)
  await collect(gateway)
  time.passed += minuteMs
  const [share, firstToken, ...month] = (await show())['Svc 2.1'] ?? []
  t.equal(share, '100%')
  t.match(firstToken, /^\d+(\.\d)? s$/)
  t.same(month, [share, firstToken])
  t.same((await show())['Auto'], ['–', '–', '–', '–'], 'of another product')
})

t.test('only failures of the service count, and a share is rounded down', async (t) => {
  const { gateway, members, show, time } = await open(t)
  for (const { token } of members) await chat(gateway, token, Math.ceil(minStatusTurns / members.length))
  await chat(gateway, members[0]?.token ?? '', 30, 400)
  await collect(gateway)
  time.passed += minuteMs
  t.equal((await show())['Svc 2.1']?.[0], '100%', 'a prompt that is too long is its member’s fault')
  await chat(gateway, members[0]?.token ?? '', 1, 500)
  await collect(gateway)
  time.passed += minuteMs
  t.equal((await show())['Svc 2.1']?.[0], '99%', 'and an upstream that fails is not')
})

t.test('the page is there only where the operator shows it', async (t) => {
  const gateway = await startGateway(t)
  t.equal((await fetch(`${gateway.url}/status`)).status, 404)
  t.notMatch(await (await fetch(gateway.url)).text(), 'href="/status"')
  const shown = await startGateway(t, { site: { status: true } })
  t.match(await (await fetch(shown.url)).text(), 'href="/status"')
  const chinese = await (await fetch(`${shown.url}/status`, { headers: { 'accept-language': 'zh-CN' } })).text()
  t.match(chinese, /服务状态[^]*至少有 100 次请求且来自 5 个账户/)
})
