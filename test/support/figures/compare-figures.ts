/**
 * Compares every total of console, operator API and commands with the ledger's own rows, and follows the links of figures to the turns
 * behind them.
 */
import type { Test } from 'tap'
import { createDayFormat } from '../../../src/domain/billing/report-format.ts'
import type { RunOperatorCommand } from '../gateway/operator-cli.ts'
import type { WebsiteClient } from '../gateway/website-client.ts'
import { listLinks } from '../website/page-links.ts'
import type { LedgerTurn, TurnFilter } from './ledger-turns.ts'
import { countBy, filterTurns, sumTurns } from './ledger-turns.ts'

export interface Figures {
  readonly t: Test
  readonly url: string
  /** With a console that may see everything. */
  readonly console: WebsiteClient
  /** Newest first; those that the lists keep. */
  readonly turns: readonly LedgerTurn[]
  /** The time of the server. */
  readonly now: number
  readonly timeZone: string
}

const hourMs = 3_600_000
/** Longer lists of the console are left out: each of its pages costs as much as a list of the API. */
const maxFollowed = 160
const dayMs = 24 * hourMs

type Totals = ReturnType<typeof sumTurns>
interface Listed {
  readonly id: number
  readonly request_id: string
}

const toIds = (turns: readonly { readonly id: number }[]): readonly number[] => turns.map(({ id }) => id)
const instant = (at: number): string => new Date(at).toISOString()

async function callApi<Body>({ url, console }: Figures, path: string): Promise<Body> {
  const { status, body } = await console.get(`${url}/api/operator/v1/${path}`)
  if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`)
  return body as Body
}

async function openPage({ url, console }: Figures, path: string): Promise<string> {
  const { status, body } = await console.get(url + path)
  if (status !== 200) throw new Error(`${path}: ${status}`)
  return body as string
}

function toQuery({ from, to, failed = false, ...rest }: TurnFilter): string {
  return new URLSearchParams({
    ...rest,
    ...(failed ? { failed: 'true' } : {}),
    ...(from === undefined ? {} : { from: instant(from) }),
    ...(to === undefined ? {} : { to: instant(to) }),
  }).toString()
}

/** All turns of a list of the operator API, by its cursor. */
async function listByApi(figures: Figures, query: string): Promise<readonly (Listed & Readonly<Record<string, unknown>>)[]> {
  const turns: (Listed & Readonly<Record<string, unknown>>)[] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const page: { data: (typeof turns)[number][]; next_cursor: string | null } = await callApi(
      figures,
      `turns?limit=200&${query}${cursor && `&cursor=${cursor}`}`,
    )
    turns.push(...page.data)
    cursor = page.next_cursor
  }
  return turns
}

/** The turns that a link of the console opens, by the links to its next pages. */
export async function followTurns(figures: Figures, address: string): Promise<readonly number[]> {
  const ids: number[] = []
  for (let next: string | undefined = address; next !== undefined;) {
    const body: string = await openPage(figures, next)
    ids.push(...[...body.matchAll(/<a [^>]*href="\/operator\/turns\/(\d+)"/g)].map(([, id]) => Number(id)))
    next = listLinks(body, '/operator/turns?').find((link) => link.includes('cursor=') && link !== next)
  }
  return ids
}

/** Each filter finds its turns, in the API, on the page and in the file; every field is the ledger's. */
export async function compareLists(figures: Figures): Promise<void> {
  const { t, turns, url, console } = figures
  const all = await listByApi(figures, '')
  t.same(
    all.map((turn) => [
      turn.id,
      turn.request_id,
      turn['member'],
      turn['key'],
      turn['product'],
      turn['target'] ?? '',
      turn['ending'],
    ]),
    turns.map(({ id, request, account, key, product, target, ending }) => [id, request, account, key, product, target, ending]),
    'the list has every ended turn',
  )
  t.same(
    all.map((turn) => [
      ...['state', 'credits', 'input_tokens', 'cached_input_tokens', 'output_tokens', 'first_token_ms'].map((name) => turn[name]),
      ...['started_at', 'ended_at'].map((name) => Date.parse(String(turn[name]))),
    ]),
    turns.map((turn) => [
      turn.state,
      turn.credits,
      turn.input,
      turn.cached,
      turn.output,
      turn.firstToken,
      turn.started,
      turn.ended,
    ]),
    'and every amount',
  )
  const [middle] = turns.slice(turns.length >> 1)
  const bounds = { from: (middle?.started ?? 0) - 500, to: (middle?.started ?? 0) + 500 }
  const of = <Name extends keyof LedgerTurn>(name: Name): readonly LedgerTurn[Name][] => [
    ...new Set(turns.map((turn) => turn[name])),
  ]
  const filters: readonly TurnFilter[] = [
    bounds,
    { failed: true },
    { ...bounds, failed: true },
    ...of('account').flatMap((member) => [{ member }, { member, failed: true }, { member, ending: 'completed' }]),
    ...of('key')
      .filter((key) => key.startsWith('key_'))
      .map((key) => ({ key })),
    ...of('product').map((product) => ({ product })),
    ...of('target').map((target) => ({ target })),
    ...of('ending').map((ending) => ({ ending })),
  ]
  for (const filter of filters) {
    const expected = toIds(filterTurns(turns, filter))
    t.same(toIds(await listByApi(figures, toQuery(filter))), expected, `the API finds ${JSON.stringify(filter)}`)
    if (expected.length > maxFollowed) continue
    const { failed = false, target, ...rest } = filter
    const ofPage = {
      ...rest,
      ...(failed ? { ending: 'failed' } : {}),
      ...(target === undefined ? {} : { target: target || 'none' }),
    }
    t.same(await followTurns(figures, `/operator/turns?${toQuery(ofPage)}`), expected, `the page finds ${JSON.stringify(filter)}`)
  }
  const exported = await fetch(`${url}/api/operator/v1/turns.csv`, { headers: { cookie: console.cookieHeader() } })
  const [names = [], ...rows] = (await exported.text())
    .trim()
    .split('\n')
    .map((line) => line.split(','))
  const amounts = (name: string): number => rows.reduce((total, row) => total + Number(row[names.indexOf(name)]), 0)
  const { turns: count, credits, input_tokens: input, output_tokens: output } = sumTurns(turns)
  t.same(
    [rows.length, amounts('credits'), amounts('input_tokens'), amounts('output_tokens')],
    [count, credits, input, output],
    'the file',
  )
}

interface UsageAnswer {
  readonly bounds: readonly string[]
  readonly total: Totals
  readonly series: readonly { readonly key: string; readonly total: Totals; readonly points: readonly Totals[] }[]
}

const pickTotals = ({ turns, charged, failed, credits, ...rest }: Totals) => {
  const { input_tokens, cached_input_tokens, output_tokens, cost_nanodollars, endings } = rest
  return { turns, charged, failed, credits, input_tokens, cached_input_tokens, output_tokens, cost_nanodollars, endings }
}

/** Every sum of every chart, and the turns that the bounds of each of its points open. */
export async function compareUsage(figures: Figures): Promise<void> {
  const { t, turns, now } = figures
  const [oldest] = turns.slice(-1)
  const members = [...new Set(turns.map(({ account }) => account))]
  const whole = { from: oldest?.started ?? now, to: now + 1 }
  const bys = { product: 'product', target: 'target', ending: 'ending', key: 'key' } as const
  const subjects: readonly (TurnFilter & { readonly by?: keyof typeof bys })[] = [
    {},
    ...(['product', 'target', 'ending'] as const).map((by) => ({ by })),
    ...members.map((member) => ({ member, by: 'key' as const })),
    ...members.slice(0, 2).flatMap((member) => [{ member }, ...(['product', 'ending'] as const).map((by) => ({ member, by }))]),
    ...[...new Set(turns.map(({ product }) => product))].map((product) => ({ product, by: 'ending' as const })),
    { ending: 'completed', by: 'product' },
  ]
  const opened = new Map<string, readonly number[]>()
  const open = async (span: TurnFilter): Promise<readonly number[]> => {
    const link = toQuery(span)
    const found = opened.get(link) ?? toIds(await listByApi(figures, link))
    opened.set(link, found)
    return found
  }
  for (const step of now - whole.from < 7 * dayMs ? ['hour', 'day'] : ['day'])
    for (const { by, ...filter } of subjects) {
      const query = `${toQuery({ ...filter, ...whole })}&step=${step}${by === undefined ? '' : `&by=${by}`}`
      const { bounds, total, series } = await callApi<UsageAnswer>(figures, `usage?${query}`)
      const edges = bounds.map((at) => Date.parse(at))
      const within = filterTurns(turns, { ...filter, from: edges[0] ?? 0, to: edges.at(-1) ?? 0 })
      const keys = by === undefined ? [''] : [...new Set(within.map((turn) => turn[bys[by]]))].toSorted()
      const toFilter = (key: string): TurnFilter => ({ ...filter, ...(by === undefined ? {} : { [by]: key }) })
      const toSpan = (key: string, point: number): TurnFilter => ({
        ...toFilter(key),
        from: edges[point] ?? 0,
        to: edges[point + 1] ?? 0,
      })
      t.same(
        {
          total: pickTotals(total),
          series: series
            .map(({ key, total: ofSeries, points }) => ({ key, total: pickTotals(ofSeries), points: points.map(pickTotals) }))
            .toSorted((one, other) => (one.key < other.key ? -1 : 1)),
        },
        {
          total: sumTurns(within),
          series: keys.map((key) => ({
            key,
            total: sumTurns(filterTurns(within, toFilter(key))),
            points: bounds.slice(1).map((_, point) => sumTurns(filterTurns(turns, toSpan(key, point)))),
          })),
        },
        `the sums of ${query}`,
      )
      const spans = series.flatMap(({ key, points }) =>
        points.flatMap((point, index) => (point.turns === 0 ? [] : [toSpan(key, index)])),
      )
      const found: (readonly number[])[] = []
      for (const span of spans) found.push(await open(span))
      t.same(
        found,
        spans.map((span) => toIds(filterTurns(turns, span))),
        `the turns behind each point of ${query}`,
      )
    }
}

/** Groups of failures, in the API and on the page, whose counts open exactly their turns. */
export async function compareFailures(figures: Figures): Promise<void> {
  const { t, turns, now } = figures
  const group = ({ ending, product, target }: LedgerTurn): string => JSON.stringify([ending, product, target])
  for (const span of [
    { from: now - dayMs, to: now },
    { from: now - 2 * hourMs, to: now - hourMs / 2 },
  ]) {
    const failed = filterTurns(turns, { ...span, failed: true })
    const groups = Map.groupBy(failed, group)
    interface Row {
      readonly ending: string
      readonly product: string
      readonly target: string | null
      readonly turns: number
      readonly members: number
      readonly first_at: string
      readonly last_at: string
      readonly example: Listed
    }
    const { data } = await callApi<{ readonly data: readonly Row[] }>(figures, `failures?${toQuery(span)}`)
    t.same(
      Object.fromEntries(
        data.map((row) => [
          JSON.stringify([row.ending, row.product, row.target ?? '']),
          [row.turns, row.members, Date.parse(row.first_at), Date.parse(row.last_at), row.example.id],
        ]),
      ),
      Object.fromEntries(
        [...groups].map(([key, [newest, ...rest]]) => [
          key,
          [
            1 + rest.length,
            new Set([newest, ...rest].map((turn) => turn?.account)).size,
            (rest.at(-1) ?? newest)?.started,
            newest?.started,
            newest?.id,
          ],
        ]),
      ),
      'groups of failures',
    )
    const body = await openPage(figures, `/operator/failures?${toQuery(span)}`)
    const links = [...body.matchAll(/<a href="(\/operator\/turns\?[^"]*)">([\d,]+)<\/a>/g)]
    t.equal(links.length, groups.size, 'each group of the page has a figure')
    const found = []
    for (const [, address = '', figure = ''] of links) {
      const ids = await followTurns(figures, address.replaceAll('&amp;', '&'))
      t.equal(ids.length, Number(figure.replaceAll(',', '')), `${figure} opens so many turns`)
      found.push(...ids)
    }
    t.same(
      found.toSorted((one, other) => other - one),
      toIds(failed).toSorted((one, other) => other - one),
      'and no other ones',
    )
  }
}

interface Line {
  readonly kind: string
  readonly turn: number | null
  readonly credits: number
  readonly tier: string
  readonly plan_left: number
  readonly packs_left: number
}

/** A member's list, page, balance and statement. */
export async function compareMembers(figures: Figures, packs: Readonly<Record<string, number>>): Promise<void> {
  const { t, turns } = figures
  for (const member of new Set(turns.map(({ account }) => account))) {
    const mine = filterTurns(turns, { member })
    const lines: Line[] = []
    for (let cursor: number | null = 0; cursor !== null;) {
      const page: { data: Line[]; next_cursor: number | null } = await callApi(
        figures,
        `members/${member}/statement?limit=100${cursor === 0 ? '' : `&cursor=${cursor}`}`,
      )
      lines.push(...page.data)
      cursor = page.next_cursor
    }
    const ofTurns = lines.filter(({ kind }) => kind === 'turn')
    t.same(
      ofTurns.map(({ turn, credits }) => [turn, 0 - credits]).toSorted(([one = 0], [other = 0]) => (other ?? 0) - (one ?? 0)),
      mine.map(({ id, credits }) => [id, credits]).toSorted(([one = 0], [other = 0]) => other - one),
      `the statement of ${member} has each turn`,
    )
    const balance = await callApi<{
      readonly pools: readonly {
        readonly tier: string
        readonly used: number
        readonly remaining: number
        readonly reserved: number
      }[]
      readonly boosts: readonly { readonly tier: string; readonly remaining: number }[]
    }>(figures, `members/${member}`)
    for (const tier of new Set(lines.map((line) => line.tier))) {
      const [newest] = lines.filter((line) => line.tier === tier)
      const pools = balance.pools.filter((pool) => pool.tier === tier)
      t.equal(newest?.plan_left, Math.min(...pools.map(({ remaining }) => remaining)), `what is left of ${tier} to ${member}`)
      const left = balance.boosts.filter((pack) => pack.tier === tier).reduce((sum, { remaining }) => sum + remaining, 0)
      t.equal(newest?.packs_left, left, `what is left of packs for ${tier} to ${member}`)
      t.same(new Set(pools.map(({ reserved }) => reserved)), new Set([0]), 'nothing is held')
    }
    const charged = mine.reduce((sum, { credits }) => sum + credits, 0)
    const used = [...Map.groupBy(balance.pools, ({ tier }) => tier).values()].map((pools) =>
      Math.max(...pools.map((pool) => pool.used)),
    )
    const fromPacks = (packs[member] ?? 0) - balance.boosts.reduce((sum, { remaining }) => sum + remaining, 0)
    t.equal(used.reduce((sum, each) => sum + each, 0) + fromPacks, charged, `what ${member} used is what their turns cost`)
    const page = await openPage(figures, `/operator/members/${member}`)
    const [all = ''] = listLinks(page, '/operator/turns?')
    t.same(await followTurns(figures, all), toIds(mine), `the link of ${member} opens their turns`)
    // The page has them in the order of their ids.
    const [table = ''] = /id="title-turns"[^]*?<\/table>/.exec(page) ?? []
    const shown = [...table.matchAll(/<a [^>]*href="\/operator\/turns\/(\d+)"/g)].map(([, id]) => Number(id))
    t.same(
      shown,
      toIds(mine)
        .toSorted((one, other) => other - one)
        .slice(0, 20),
      `the page of ${member} has the newest`,
    )
  }
}

/** `report`, by each dimension that the lists have, from the command and from the API; `turns` and the verification. */
export async function compareCommands(figures: Figures, run: RunOperatorCommand): Promise<void> {
  const { t, turns, url, console } = figures
  const dimensions = { account: 'account', product: 'product', key: 'key' } as const
  for (const [by, name] of Object.entries(dimensions)) {
    const { code, stdout } = await run('report', '--by', by, '--csv')
    t.equal(code, 0)
    const response = await fetch(`${url}/api/operator/v1/reports/usage.csv?by=${by}`, {
      headers: { cookie: console.cookieHeader() },
    })
    t.equal(await response.text(), stdout, `the command and the API report alike by ${by}`)
    const [names = [], ...rows] = stdout
      .trim()
      .split('\n')
      .map((line) => line.split(','))
    const columns = ['turns', 'failed', 'input_tokens', 'cached_input_tokens', 'output_tokens', 'credits']
    t.same(
      Object.fromEntries(rows.map((row) => [row[0], columns.map((column) => Number(row[names.indexOf(column)]))])),
      Object.fromEntries(
        [...Map.groupBy(turns, (turn) => turn[name])].map(([key, group]) => {
          const sums = sumTurns(group)
          return [key, [sums.charged, sums.failed, sums.input_tokens, sums.cached_input_tokens, sums.output_tokens, sums.credits]]
        }),
      ),
      `the report by ${by}`,
    )
    const cost = rows.reduce((sum, row) => sum + Math.round(Number(row[names.indexOf('upstream_cost_usd')]) * 1e9), 0)
    t.equal(cost, sumTurns(turns).cost_nanodollars, 'and its cost')
  }
  t.match(await run('ledger', 'verify', '--json'), { code: 0 }, 'the ledger adds up')
}

/** Counters of one process: endings and credits of its own turns, and the holds of others that it released. */
export function compareMetrics(t: Test, metrics: string, turns: readonly LedgerTurn[], released: number): void {
  const samples = [...metrics.matchAll(/^(svc_\w+)\{([^}]*)\} (\S+)$/gm)].map(([, name, labels = '', value]) => ({
    name,
    labels: Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label = '', text]) => [label, text])),
    value: Number(value),
  }))
  const sum = (name: string, pick: (labels: Readonly<Record<string, string | undefined>>) => string | null) => {
    const sums: Record<string, number> = {}
    for (const sample of samples.filter((each) => each.name === name && each.value > 0)) {
      const key = pick(sample.labels)
      if (key !== null) sums[key] = (sums[key] ?? 0) + sample.value
    }
    return sums
  }
  t.same(
    sum('svc_turns_total', ({ product, outcome, code }) =>
      product === undefined || product === 'none' || outcome === 'expired'
        ? null
        : `${product} ${outcome === 'failed' ? code : outcome}`,
    ),
    countBy(turns, ({ product, ending }) => `${product} ${ending}`),
    'the counters of turns',
  )
  t.equal(
    sum('svc_turns_total', ({ outcome }) => (outcome === 'expired' ? '' : null))[''] ?? 0,
    released,
    'and of released holds',
  )
  t.same(
    sum('svc_credits_settled_total', ({ product = '' }) => product),
    Object.fromEntries(
      [...Map.groupBy(turns, ({ product }) => product)]
        .map(([product, group]) => [product, sumTurns(group).credits] as const)
        .filter(([, credits]) => credits > 0),
    ),
    'and of credits',
  )
}

/** The first page: endings since its process began, and the credits of the day. */
export async function compareNow(
  figures: Figures,
  ofProcess: readonly LedgerTurn[],
  others: Readonly<Record<string, number>>,
): Promise<void> {
  const { t, turns } = figures
  const body = await openPage(figures, '/operator')
  const live = (name: string): string => new RegExp(`data-live="${name}">([^<]*)<`).exec(body)?.[1] ?? ''
  const endings = [...body.matchAll(/data-live="day-(?!span)([a-z_]+)">[^<(]*\(([\d,]+)\)/g)].map(
    ([, ending, count = '']) => [ending, Number(count.replaceAll(',', ''))] as const,
  )
  const expected = { ...countBy(ofProcess, ({ ending }) => ending), ...others }
  // The page has the twelve most frequent ones.
  const least = Object.values(expected).toSorted((one, other) => other - one)[11] ?? 0
  t.same(
    Object.fromEntries(endings.filter(([, count]) => count > least)),
    Object.fromEntries(Object.entries(expected).filter(([, count]) => count > least)),
    'how turns ended, on the first page',
  )
  const toDay = createDayFormat(figures.timeZone)
  const today = turns.filter(({ started }) => toDay(started) === toDay(figures.now))
  t.equal(Number(live('credits').replaceAll(',', '')), sumTurns(today).credits, 'and the credits of the day, of all nodes')
}
