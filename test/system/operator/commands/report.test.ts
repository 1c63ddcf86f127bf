/** `svc-gateway report`: what it adds up of real turns, and how it writes that. */
import t from 'tap'
import type { Test } from 'tap'
import { computeUpstreamCost } from '../../../../src/domain/billing/catalog/upstream-cost.ts'
import { formatCsvLine, formatDollars } from '../../../../src/domain/billing/report-format.ts'
import { createOperatorCli } from '../../../support/gateway/operator-cli.ts'
import { setUpAnthropicGateway, setUpResponsesGateway } from '../../../support/gateway/scripted-gateway.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../support/gateway/test-gateway.ts'

const cost = { input: 0.4, cachedInput: 0.04, output: 1.25, perCall: 0 }

interface ReportDocument {
  readonly by: readonly string[]
  readonly data: readonly Readonly<Record<string, string | number | null>>[]
  readonly total: Readonly<Record<string, string | number | null>>
}

async function readReport(t: Test, gateway: TestGateway, ...words: string[]): Promise<ReportDocument> {
  const { code, stdout, stderr } = await createOperatorCli(t, gateway.config.store.dataDir)('report', ...words, '--json')
  t.equal(code, 0, stderr)
  return JSON.parse(stdout) as ReportDocument
}

const toNanoDollars = (dollars: unknown): number => Math.round(Number(dollars) * 1e9)

t.test('a report after answers, refunds and disconnects equals the ledger, the answers and the configured cost', async (t) => {
  const gateway = await startGateway(t, {
    products: {
      auto: { targets: [{ upstream: 'main', model: 'demo-light', cost }] },
      'svc-2.1': { targets: [{ upstream: 'main', model: 'demo-flagship' }] },
    },
  })
  const members = [await gateway.createMember('max'), await gateway.createMember('pro')] as const
  const scripts = [
    {},
    { tokens: 30 },
    { tokens: 9, usage: { prompt_tokens: 100, completion_tokens: 9, prompt_tokens_details: { cached_tokens: 60 } } },
    { status: 500 },
    { status: 429 },
    { tokens: 20, error: { at: 6 } },
    { tokens: 20, reset: { afterEvents: 5 } },
    { whole: true },
  ] as const
  let calls = 0
  gateway.demo.script(() => scripts[calls++ % scripts.length] ?? {})
  const answered = { input: 0, output: 0 }
  for (let round = 0; round < 64; round += 1) {
    const member = members[round % 3 === 0 ? 1 : 0]
    const stream = round % 2 === 0
    const model = round % 5 === 0 ? 'svc-2.1' : 'auto'
    const response = await gateway.chat(member.token, {
      model,
      stream,
      stream_options: stream ? { include_usage: true } : undefined,
    })
    const text = await response.text()
    const usage = /"prompt_tokens":(\d+),"completion_tokens":(\d+)/.exec(text)
    if (usage === null || text.includes('"error"')) continue
    answered.input += Number(usage[1])
    answered.output += Number(usage[2])
  }
  gateway.demo.script(() => ({ tokens: 40, hang: { afterEvents: 10 } }))
  for (let round = 0; round < 4; round += 1) {
    const left = new AbortController()
    const response = await gateway.chat(members[0].token, { model: 'auto', stream: true }, { signal: left.signal })
    await response.body?.getReader().read()
    left.abort()
  }
  await gateway.waitUntilSettled()
  const turns = await gateway.listTurns()
  const settled = turns.filter(({ state }) => state === 'settled')
  const refunded = turns.filter(({ state }) => state === 'refunded')
  t.equal(settled.length + refunded.length, 68)
  t.ok(settled.length > 20 && refunded.length > 20, `${settled.length} charged, ${refunded.length} refunded`)
  t.equal(
    settled.reduce((sum, turn) => sum + (turn.code === 'aborted' ? 0 : turn.inputTokens + turn.outputTokens), 0),
    answered.input + answered.output,
    'clients were told the tokens that are charged',
  )
  for (const turn of settled) {
    const tokens = { input: turn.inputTokens, cachedInput: turn.cachedInputTokens, output: turn.outputTokens }
    const expected = turn.model === 'auto' ? computeUpstreamCost(tokens, cost) : null
    t.equal(turn.upstreamCostNanodollars, expected)
    t.match(turn, { plan: /^(?:max|pro)$/, upstreamModel: /^demo-(?:light|flagship)$/, upstreamResponseId: /^chatcmpl-/ })
  }
  const isPartial = ({ upstreamResponseId: id }: (typeof turns)[number]): boolean => id !== null
  for (const turn of refunded) {
    if (turn.model !== 'auto') t.equal(turn.upstreamCostNanodollars, null)
    else if (isPartial(turn)) t.ok(Number(turn.upstreamCostNanodollars) > 0, 'what the upstream produced costs the operator')
    else t.equal(turn.upstreamCostNanodollars, null)
  }
  t.ok(
    refunded.some((turn) => isPartial(turn) && turn.model === 'auto'),
    'some failed within their answer',
  )

  const sum = (list: typeof turns, value: (turn: (typeof turns)[number]) => number): number =>
    list.reduce((total, turn) => total + value(turn), 0)
  const known = settled.concat(refunded).filter((turn) => turn.upstreamCostNanodollars !== null)
  const totalCost = sum(turns, (turn) => turn.upstreamCostNanodollars ?? 0)
  const expected = {
    turns: settled.length,
    failed: refunded.length,
    credits: sum(turns, ({ credits }) => credits),
    input_tokens: sum(turns, ({ inputTokens }) => inputTokens),
    cached_input_tokens: sum(turns, ({ cachedInputTokens }) => cachedInputTokens),
    output_tokens: sum(turns, ({ outputTokens }) => outputTokens),
    turns_without_cost: settled.filter(({ model }) => model !== 'auto').length,
  }
  for (const by of ['account', 'product', 'plan', 'upstream', 'key', 'day', 'day,account,product,plan,upstream,key']) {
    const { data, total } = await readReport(t, gateway, '--by', by)
    t.match(total, expected, by)
    t.equal(toNanoDollars(total['upstream_cost_usd']), totalCost)
    t.equal(toNanoDollars(total['margin_usd']), sum(known, ({ credits }) => credits) * 1_000 - totalCost)
    for (const name of Object.keys(expected)) {
      const added = data.reduce((before, row) => before + Number(row[name]), 0)
      t.equal(added, expected[name as keyof typeof expected], `${name} by ${by}`)
    }
  }
  const { data: plans } = await readReport(t, gateway, '--by', 'plan')
  t.same(plans.map(({ plan }) => plan).toSorted(), ['max', 'pro'])
  const { data: products } = await readReport(t, gateway, '--by', 'product')
  t.match(
    products.find(({ product }) => product === 'svc-2.1'),
    { upstream_cost_usd: null, margin_usd: null },
  )
})

t.test('a turn keeps the plan that the account had then', async (t) => {
  const gateway = await startGateway(t)
  const { id, token } = await gateway.createMember('pro')
  await (await gateway.chat(token)).text()
  const cli = createOperatorCli(t, gateway.config.store.dataDir)
  t.equal((await cli('account', 'set-plan', id, '--plan', 'max')).code, 0)
  const { data } = await readReport(t, gateway, '--by', 'plan')
  t.match(data, [{ plan: 'pro', turns: 1 }])
})

t.test('the record of a turn has the model and the id that an upstream of each API names', async (t) => {
  const anthropic = await setUpAnthropicGateway(t)
  const responses = await setUpResponsesGateway(t)
  for (const [{ gateway, post }, id] of [
    [anthropic, /^msg_/],
    [responses, /^resp_/],
  ] as const)
    for (const stream of [false, true]) {
      await (await post('/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }], stream })).text()
      await gateway.waitUntilSettled()
      const [turn] = await gateway.listTurns()
      t.match(turn, { state: 'settled', upstreamModel: /./, upstreamResponseId: id })
    }
})

t.test('pictures cost their price of a call', async (t) => {
  const gateway = await startGateway(t, {
    products: {
      'svc-img': { targets: [{ upstream: 'main', model: 'demo-image', cost: { input: 0, output: 0, perCall: 0.04 } }] },
    },
  })
  const { token } = await gateway.createMember('max')
  const response = await gateway.chat(token, { model: 'svc-img', messages: [{ role: 'user', content: 'A boat' }] })
  t.equal(response.status, 200, await response.text())
  await gateway.waitUntilSettled()
  t.match(await gateway.listTurns(), [{ state: 'settled', upstreamCostNanodollars: 40_000_000 }])
})

/** FOCUS 1.2, specification/columns: those whose feature level is Mandatory. */
const mandatoryColumns =
  `BilledCost BillingAccountId BillingAccountName BillingCurrency BillingPeriodEnd BillingPeriodStart ChargeCategory
  ChargeClass ChargeDescription ChargePeriodEnd ChargePeriodStart ContractedCost EffectiveCost InvoiceIssuerName ListCost PricingQuantity
  PricingUnit ProviderName PublisherName ServiceCategory ServiceName`.split(/\s+/)

t.test('--focus writes every mandatory column of FOCUS 1.2, and its charges add up to the credits', async (t) => {
  const gateway = await startGateway(t, { products: { auto: { targets: [{ upstream: 'main', model: 'demo-light', cost }] } } })
  const { id, token } = await gateway.createMember('max')
  for (let round = 0; round < 3; round += 1) await (await gateway.chat(token, { model: 'auto' })).text()
  await gateway.waitUntilSettled()
  const cli = createOperatorCli(t, gateway.config.store.dataDir)
  const { code, stdout } = await cli('report', '--focus')
  t.equal(code, 0)
  const [heading = [], ...rows] = stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split(','))
  for (const name of mandatoryColumns) t.ok(heading.includes(name), name)
  for (const name of heading) t.match(name, /^(?:x_)?[A-Z][A-Za-z]+$/)
  const records = rows.map((row) => Object.fromEntries(heading.map((name, index) => [name, row[index]])))
  const turns = await gateway.listTurns()
  t.equal(
    records.reduce((sum, row) => sum + toNanoDollars(row['BilledCost']), 0),
    turns.reduce((sum, { credits }) => sum + credits * 1_000, 0),
  )
  t.match(records[0], {
    BillingCurrency: 'USD',
    ChargeCategory: 'Usage',
    ChargePeriodStart: /^\d{4}-\d\d-\d\dT00:00:00Z$/,
    ServiceCategory: 'AI and Machine Learning',
    SubAccountId: id,
    SkuId: 'auto',
    x_Turns: '3',
    x_Upstream: 'main',
  })
})

t.test('the table ends with the total, and names turns whose cost is unknown', async (t) => {
  const gateway = await startGateway(t)
  const { email, token } = await gateway.createMember('max')
  await (await gateway.chat(token, { model: 'auto' })).text()
  await gateway.waitUntilSettled()
  const cli = createOperatorCli(t, gateway.config.store.dataDir)
  const { stdout } = await cli('report', '--by', 'account,product')
  const [heading, row, total, note] = stdout.split('\n')
  t.match(heading, /^account +product +turns +failed +in +cached +out +credits +list \$ +cost \$ +margin \$/)
  t.match(row, new RegExp(`^${email} +auto +1 +0 .* - +-$`))
  t.match(total, /^total +1 +0 /)
  t.match(note, /cost of 1 of 1 charged turns is unknown/)
})

t.test('a wrong option is refused in one sentence', async (t) => {
  const gateway = await startGateway(t)
  const cli = createOperatorCli(t, gateway.config.store.dataDir)
  for (const [words, sentence] of [
    [['--by', 'member'], /--by must be a list of account, product/],
    [['--by', 'day,day'], /twice/],
    [['--csv', '--json'], /Only one of/],
    [['--focus', '--by', 'day'], /leave --by out/],
    [['--from', '2026-01-02', '--to', '2026-01-01'], /--from must be before --to/],
    [['--from', 'soon'], /--from must be a date/],
  ] as const) {
    const { code, stderr } = await cli('report', ...words)
    t.equal(code, 1)
    t.match(stderr, sentence)
  }
})

t.test('money is written with all its digits, and CSV is quoted where it must be', async (t) => {
  for (const [nanoDollars, text] of [
    [0n, '0'],
    [1n, '0.000000001'],
    [-1_500_000_000n, '-1.5'],
    [12_345_678_901_234_567_890n, '12345678901.23456789'],
  ] as const)
    t.equal(formatDollars(nanoDollars), text)
  t.equal(formatCsvLine(['a,b', 'say "x"', null, 3, 'two\nlines']), '"a,b","say ""x""",,3,"two\nlines"\n')
})
