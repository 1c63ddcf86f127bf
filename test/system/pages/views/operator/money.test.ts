/** `/operator/money` and the pages below it: figures that equal the report command's, and lists behind each. */
import t from 'tap'
import type { Test } from 'tap'
import { createDayFormat, formatDollars } from '../../../../../src/domain/billing/report-format.ts'
import { createOperatorCli } from '../../../../support/gateway/operator-cli.ts'
import { createOperator, openConsole } from '../../../../support/gateway/operators.ts'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../../support/gateway/test-gateway.ts'
import { createPaidOrder } from '../../../../support/website/console-data.ts'
import { readFormFields, sendForm } from '../../../../support/website/page-form.ts'
import { listLinks } from '../../../../support/website/page-links.ts'

const cost = { input: 0.4, cachedInput: 0.04, output: 1.25, perCall: 0 }
const packs = [{ id: 'small', credits: 1_000_000, pool: 'premium' as const, prices: [{ amount: 4, currency: 'USD' }] }]

interface ReportDocument {
  readonly data: readonly Readonly<Record<string, string | number | null>>[]
  readonly total: Readonly<Record<string, string | number | null>>
}

async function open(t: Test) {
  const gateway = await startGateway(t, {
    payments: { demo: true },
    packs,
    products: {
      auto: { targets: [{ upstream: 'main', model: 'demo-light', cost }] },
      'svc-2.1': { targets: [{ upstream: 'main', model: 'demo-flagship', cost }] },
    },
  })
  const owner = await createOperator(gateway, 'ann@example.com', 'owner')
  const console = await openConsole(gateway, owner)
  const show = async (path: string) =>
    (await console.get(`${gateway.url}/operator${path === '' ? '' : `/${path}`}`)).body as string
  const today = createDayFormat(gateway.config.timeZone)(gateway.services.clock.now())
  return { gateway, owner, console, show, today }
}

async function makeTurns(gateway: TestGateway): Promise<void> {
  const members = [await gateway.createMember('max'), await gateway.createMember('pro')]
  const scripts = [{}, { tokens: 30 }, { status: 500 }, { tokens: 20, error: { at: 6 } }] as const
  let calls = 0
  gateway.demo.script(() => scripts[calls++ % scripts.length] ?? {})
  for (let round = 0; round < 16; round += 1)
    await (
      await gateway.chat(members[round % 2]?.token ?? '', {
        model: round % 3 === 0 ? 'svc-2.1' : 'auto',
        stream: round % 4 === 0,
      })
    ).text()
  gateway.demo.script()
  await gateway.waitUntilSettled()
  const { membership, clock } = gateway.services
  await membership.turnHistory.collect(90, { clock, signal: new AbortController().signal })
}

/** The rows of the page's table, as texts of their cells. */
function readRows(page: string): readonly (readonly string[])[] {
  const [body = ''] = /<tbody[^]*?<\/tbody>/.exec(page) ?? []
  return [...body.matchAll(/<tr role="row">([^]*?)<\/tr>/g)].map(([, row = '']) =>
    [...row.matchAll(/<span class="cell">([^]*?)<\/span>\s*<\/t[hd]>/g)].map(([, cell = '']) =>
      cell
        .replaceAll(/<[^>]*>/g, '')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    ),
  )
}

t.test('figures equal those of the report command, to the smallest unit', async (t) => {
  const { gateway, show, today } = await open(t)
  await makeTurns(gateway)
  const cli = createOperatorCli(t, gateway.config.store.dataDir)
  for (const by of ['day', 'plan', 'product'] as const) {
    const { code, stdout, stderr } = await cli('report', '--by', by, '--json')
    t.equal(code, 0, stderr)
    const { data } = JSON.parse(stdout) as ReportDocument
    const expected = data.map((row) => {
      const turns = [
        Number(row['credits']).toLocaleString('en-US'),
        `${Number(row['turns']) + Number(row['failed'])}${Number(row['failed']) > 0 ? ` failed ${row['failed']}` : ''}`,
        `${row['upstream_cost_usd']} USD`,
        `${row['margin_usd']} USD`,
      ]
      return by === 'product'
        ? [row['product'], ...turns]
        : [by === 'plan' ? toName(gateway, row['plan']) : row['day'], '–', ...turns]
    })
    t.ok(expected.length > 0 && Number(data[0]?.['failed']) > 0)
    t.same(readRows(await show(`money?by=${by}`)), expected, by)
  }
  const { total } = JSON.parse((await cli('report', '--json')).stdout) as ReportDocument
  const page = await show('money')
  for (const figure of [`${total['upstream_cost_usd']} USD`, `${total['margin_usd']} USD`])
    t.ok(page.includes(`>${figure}</a>`), figure)
  t.match(await show(''), new RegExp(`data-live="cost">${total['upstream_cost_usd']} USD<`), 'the first page has those of today')

  const turns = await gateway.listTurns()
  for (const search of ['by=product', 'by=plan', 'by=product&plan=pro', 'by=plan&product=auto', 'by=day&plan=max&product=auto']) {
    const money = await show(`money?${search}&from=${today}&to=${today}`)
    const links = listLinks(money, '/operator/turns?')
    t.ok(links.length >= 4, `${search}: ${links.length} links`)
    for (const link of links) {
      const query = new URL(link, gateway.url).searchParams
      const { product, plan, ending } = Object.fromEntries(query)
      const expected = turns.filter(
        (turn) =>
          (product ?? turn.model) === turn.model &&
          (plan ?? turn.plan) === turn.plan &&
          (ending === undefined || turn.state !== 'settled'),
      )
      const shown = listTurnIds(await show(link.slice('/operator/'.length)))
      t.same(shown.toSorted(), expected.map(({ id }) => id).toSorted(), `${search}: ${link}`)
    }
  }
})

const listTurnIds = (page: string): readonly number[] =>
  [...page.matchAll(/href="\/operator\/turns\/(\d+)"/g)].map(([, id]) => Number(id))

function toName({ config }: TestGateway, plan: unknown): string {
  return config.plans[String(plan)]?.name ?? ''
}

t.test('unusable days are refused in words, and the last thirty are shown', async (t) => {
  const { console, gateway, today } = await open(t)
  for (const query of ['from=2026-02-30', 'from=soon', `from=${today}&to=2020-01-01`, 'from=2020-01-01', "to=' or 1=1"])
    t.match(await console.get(`${gateway.url}/operator/money?${query}`), { status: 400, body: /role="alert"/ }, query)
  for (const query of ['by=none', 'plan=%3Cimg%20src=x%3E', 'product=a&plan=packs', `from=${today}`])
    t.match(await console.get(`${gateway.url}/operator/money?${query}`), { status: 200 }, query)
})

t.test('money that came and went is listed by day and plan, and opens its orders', async (t) => {
  const { gateway, show, today } = await open(t)
  const first = await gateway.createAccount('free')
  const plan = await createPaidOrder(gateway, first.id)
  const pack = await createPaidOrder(gateway, first.id, { kind: 'pack', pack: 'small' })
  const author = { actor: { kind: 'command', systemUser: 'root' }, client: null, reason: 'asked' } as const
  await gateway.services.orders?.refund(pack.order.id, { amount: 150, reason: 'asked' }, author)
  const price = formatDollars(BigInt(plan.order.due.amount) * 10_000_000n)
  const rows = readRows(await show('money?by=plan'))
  t.equal(rows.find(([name]) => name === 'Packs')?.[1], '$4.00 returned $1.50')
  t.match(rows.find(([name]) => name === toName(gateway, 'pro'))?.[1], new RegExp(`^\\$${price}`))
  const list = async (query: string) => {
    const page = await show(`orders?${query}`)
    return [plan, pack].filter(({ order }) => page.includes(`/orders/${order.id}"`)).length
  }
  const days = `from=${today}&to=${today}`
  t.same(
    [await list(`when=paid&${days}`), await list(`when=paid&${days}&plan=packs`), await list(`when=returned&${days}`)],
    [2, 1, 1],
  )
  t.equal(await list('when=paid&from=2020-01-01&to=2020-01-02'), 0)
  t.match(
    await show('money/packs'),
    new RegExp(`href="/operator/orders/${pack.order.id}"[^]*1,000,000[^]*625,000[^]*spent 375,000`),
  )
  const subscribers = await show('money/subscribers')
  const [, href = ''] = /href="\/operator\/(money\/subscribers\?terms=[^"]*)#/.exec(subscribers) ?? []
  t.match(await show(href.replaceAll('&amp;', '&')), new RegExp(`href="/operator/members/${first.id}"`))
})

t.test('codes are made once and shown once, redeemed, listed by state, and revoked', async (t) => {
  const { gateway, owner, console, show } = await open(t)
  const url = `${gateway.url}/operator/money/codes`
  const page = await show('money/codes')
  const fields = readFormFields(page, { action: 'make_credit_codes' })
  const typed = { pool: 'premium', credits: '5,000', days: '30', count: '2', uses: '1', batch: 'spring', reason: 'a fair' }
  for (const wrong of [
    { credits: '0' },
    { count: '101' },
    { uses: '1.5' },
    { batch: 'a b' },
    { expires: '2020-01-01' },
    { reason: '' },
  ])
    t.match(
      await sendForm(console, url, fields, { ...typed, ...wrong }),
      { status: 400, body: /role="alert"/ },
      JSON.stringify(wrong),
    )
  const made = (await sendForm(console, url, fields, typed)).body as string
  const codes = [...made.matchAll(/\b(?:[0-9A-Z]{5}-){3}[0-9A-Z]{5}\b/g)].map(([code]) => code)
  t.equal(codes.length, 2)
  const again = (await sendForm(console, url, fields, typed)).body as string
  t.match(again, /were made before and are shown once/)
  t.notOk(codes.some((code) => again.includes(code)))
  const { store } = gateway.services
  t.match(await store.audit.list({ event: 'codes_made', limit: 9 }), [
    { actor: { kind: 'session', account: owner.account }, reason: 'a fair', detail: { codes: 2, batch: 'spring' } },
  ])
  const member = await gateway.createAccount('free')
  const account = await store.accounts.find(member.id)
  if (account === undefined) throw new Error('there is no member')
  const client = { ip: '127.0.0.1', network: '127.0.0.1', requestId: 'mbr_1' } as Parameters<
    typeof gateway.services.membership.redeemCodes.redeem
  >[2]
  t.match(await gateway.services.membership.redeemCodes.redeem(codes[0] ?? '', account, client), { kind: 'good' })
  const find = async (state: string): Promise<readonly string[]> =>
    [...(await show(`money/codes?state=${state}`)).matchAll(/href="\/operator\/money\/codes\/(code_\w+)"/g)].map(
      ([, id = '']) => id,
    )
  const [used] = await find('used_up')
  const [spare = ''] = await find('open')
  t.match(await show(`money/codes/${used}`), new RegExp(`/operator/members/${member.id}`))
  const one = `money/codes/${spare}`
  const revoke = readFormFields(await show(one), { action: 'revoke' })
  t.match(await sendForm(console, `${gateway.url}/operator/${one}`, revoke, { reason: 'the fair is over' }), { status: 303 })
  t.same([await find('open'), await find('revoked'), await find('expired')], [[], [spare], []])
  t.match(await gateway.services.membership.redeemCodes.redeem(codes[1] ?? '', account, client), {
    kind: 'refused',
    reason: 'revoked',
  })
  for (const path of ['money/codes/code_none', 'money/codes/%27']) t.match(await show(path), /404|no such|not found/i, path)
  const plan = readFormFields(await show('money/codes'), { action: 'make_plan_codes' })
  const forPlan = { plan: 'pro', span: '1mo', count: '1', uses: '3', reason: 'a partner' }
  for (const wrong of [{ plan: 'free' }, { plan: 'none' }, { span: 'soon' }])
    t.match(await sendForm(console, url, plan, { ...forPlan, ...wrong }), { status: 400 }, JSON.stringify(wrong))
  t.match((await sendForm(console, url, plan, forPlan)).body, /The new codes/)
  t.match(await show('money/codes?state=open'), /1mo/)
})
