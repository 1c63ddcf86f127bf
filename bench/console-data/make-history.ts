/**
 * Ended turns with their lists and sums, as statements that both databases run: what the collector would write in hours. `checkHistory` compares
 * it with what the collector writes.
 */
import { latencyBoundsMs } from '../../src/domain/turn-history/latency-histogram.ts'

export interface HistorySize {
  readonly turns: number
  readonly accounts: number
  /** The first turn starts here, and the last one before `end`: both at the beginning of a day in UTC. */
  readonly begin: number
  readonly end: number
}

export const heavyAccount = 'acc_heavy'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** One turn of so many is of `heavyAccount`. */
const heavyShare = 50
const codes = ['upstream_unavailable', 'upstream_timeout', 'upstream_error', 'overloaded', 'bad_answer']

/** A number below `below` that follows from the turn's in no visible order. */
const draw = (salt: number, below: number): string => `((((i * 2654435761 + ${salt * 40_503}) >> 7) & 1073741823) % ${below})`

/** Columns of `turn`, as expressions over its number `i`. `previous_turn` is for SQLite alone. */
function defineTurn({ turns, accounts, begin, end }: HistorySize, emptyHash: string): Readonly<Record<string, string>> {
  const isHeavy = `i % ${heavyShare} = 0`
  // Of the other accounts each has one turn before the first has another one.
  const others = accounts - 1
  const nth = `(i - i / ${heavyShare})`
  const before = `(${nth} - ${others})`
  const startedAt = `(${begin} + i * ${(end - begin) / dayMs} * ${dayMs / 1000} / ${turns} * 1000 + i % 1000)`
  const failed = `${draw(2, 100)} < 3`
  return {
    id: 'i',
    previous_turn: `case when ${isHeavy} then i - ${heavyShare} when ${before} > 0 then ${before} + (${before} - 1) / ${heavyShare - 1} else 0 end`,
    request_id: `'mbr_' || i`,
    account: `case when ${isHeavy} then '${heavyAccount}' else 'acc_' || ((${nth} * 7919) % ${others}) end`,
    model: `'product-' || ${draw(1, 4)}`,
    api_format: `'chat_completions'`,
    credential: `'key_' || ${draw(5, 2)}`,
    pool: `'fast'`,
    state: `case when ${failed} then 'refunded' else 'settled' end`,
    owner_process: '1',
    lease_until: '0',
    started_at: startedAt,
    ended_at: `${startedAt} + 200 + ${draw(6, 9000)}`,
    reserved: '1000',
    reserved_plan: '1000',
    day_bucket: '1',
    week_bucket: '2',
    month_bucket: '3',
    credits: `case when ${failed} then 0 else ${draw(7, 900)} end`,
    debt: '0',
    price_input: '1',
    price_output: '1',
    discount_percent: '0',
    input_tokens: draw(8, 4000),
    cached_input_tokens: draw(14, 100),
    output_tokens: draw(9, 900),
    estimated: '0',
    code: `case when ${failed} then case ${draw(10, 1000)} % 5 ${codes.map((code, index) => `when ${index} then ${index === 0 ? `case ${draw(10, 1000)} when 0 then 'rare_code' else '${code}' end` : `'${code}'`}`).join(' ')} end
      when ${draw(11, 50)} = 0 then 'aborted' end`,
    target: `'upstream-' || ${draw(12, 3)} || '/model'`,
    upstream_cost_nanodollars: draw(15, 100_000),
    first_token_ms: draw(13, 3000),
    // Each member stays with one plan.
    plan: `case when ${isHeavy} then 'max' when (${nth} * 7919) % ${others} % 5 = 0 then 'pro' else 'free' end`,
    seq: `case when ${isHeavy} then i / ${heavyShare} else (${nth} - 1) / ${others} + 1 end`,
    hash: emptyHash,
  }
}

/** The statements in their order. `numbers`: a source of rows `i` from 1 to the number of turns. */
export function listHistoryStatements(kind: 'sqlite' | 'postgres', size: HistorySize): readonly string[] {
  const { turns, accounts, begin, end } = size
  const isSqlite = kind === 'sqlite'
  const numbers = (count: number): string =>
    isSqlite
      ? `(with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count}) select i from n) as n`
      : `generate_series(1::bigint, ${count}::bigint) as n(i)`
  const { previous_turn: previousTurn, ...columns } = defineTurn(size, isSqlite ? `x'00'` : `'\\x00'::bytea`)
  const turn = isSqlite ? { ...columns, previous_turn: previousTurn ?? '0' } : columns
  const indexes = ['started', 'account', 'group', 'request'].map((name) => `turn_search_${name}`)
  const buckets = ['day', 'week', 'month']
    .map(
      (window, index) =>
        [
          [`fast_${window}_id`, index + 1],
          [`fast_${window}_starts_at`, begin],
          [`fast_${window}_ends_at`, end + 30 * dayMs],
          [`fast_${window}_granted`, 1e12],
          [`fast_${window}_settled`, 1e9],
        ] as const,
    )
    .flat()
  const balance = [...buckets, ...(isSqlite ? [['last_turn', 0] as const] : [])]
  return [
    `insert into account (id, email, canonical_email, plan, status, email_verified, created_at)
      select case when i = ${accounts} then '${heavyAccount}' else 'acc_' || (i - 1) end, 'member-' || i || '@example.org',
        'member-' || i || '@example.org', 'free', 'active', 1, ${begin} + i from ${numbers(accounts)}`,
    `insert into turn (${Object.keys(turn).join(', ')}) select ${Object.values(turn).join(', ')} from ${numbers(turns)}`,
    `insert into balance (account, seq, hash, ${balance.map(([name]) => name).join(', ')})
      select account, max(seq), ${columns['hash'] ?? ''}, ${balance.map(([name, value]) => (name === 'last_turn' ? 'max(id)' : value)).join(', ')}
      from turn where id > ${Math.max(0, turns - 2 * accounts - heavyShare)} group by account`,
    `insert into turn_group (id, product, target, ending, plan)
      select row_number() over (order by product, target, ending, plan), product, target, ending, plan
      from (select distinct t.model as product, coalesce(t.target, '') as target, coalesce(t.code, 'completed') as ending, p.plan
        from turn as t join (select 'free' as plan union all select 'pro' union all select 'max' union all select '') as p
          on p.plan = t.plan or p.plan = '') as g`,
    ...indexes.map((name) => `drop index ${name}`),
    `insert into turn_search (id, account, seq, started_at, group_id, credential, request_id)
      select t.id, t.account, t.seq, t.started_at, g.id, t.credential, t.request_id from turn as t join turn_group as g
        on g.product = t.model and g.target = coalesce(t.target, '') and g.ending = coalesce(t.code, 'completed') and g.plan = t.plan
      order by t.id`,
    'create index turn_search_started on turn_search (started_at, id)',
    'create index turn_search_account on turn_search (account, started_at, id, group_id)',
    'create index turn_search_group on turn_search (group_id, started_at, id, account)',
    'create index turn_search_request on turn_search (request_id)',
    `create temporary table summed as select s.account, s.started_at, s.group_id, a.id as all_plans, s.credential, t.credits, t.input_tokens,
      t.cached_input_tokens, t.output_tokens, t.upstream_cost_nanodollars as cost, ${findBucket('t.ended_at - t.started_at')} as duration,
      ${findBucket('t.first_token_ms')} as first_token
      from turn_search as s join turn as t on t.id = s.id ${isSqlite ? '' : 'and t.account = s.account'}
        join turn_group as g on g.id = s.group_id
        join turn_group as a on a.product = g.product and a.target = g.target and a.ending = g.ending and a.plan = ''`,
    sumTurns({ account: 'account', credential: 'credential', span: 'hour' }),
    sumTurns({ account: `''`, credential: `''`, span: 'hour' }),
    sumTurns({ account: `''`, credential: `''`, span: 'day' }),
    'drop table summed',
    `update turn_history set version = 1, newest_turn = ${isSqlite ? turns : 0}, kept_from = ${begin}, complete_at = ${end}`,
    ...(isSqlite
      ? [`update balance_watermark set turn = ${turns}, newest_turn = ${turns}`]
      : [
          `select setval('turn_block', ${turns + 1}, false)`,
          `insert into turn_history_block (first_turn, end_turn, newest_turn, owner, changed_at, is_closed)
            values (1, ${turns + 1}, ${turns}, 0, ${end}, 1)`,
        ]),
    ...listRecordStatements(kind, size, numbers),
  ]
}

function findBucket(ms: string): string {
  return `case ${latencyBoundsMs.map((bound, bucket) => `when ${ms} <= ${bound} then ${bucket}`).join(' ')}
    when ${ms} is not null then ${latencyBoundsMs.length} end`
}

/** One sort: sums, and counts of each bucket of both histograms. */
function sumTurns({ account, credential, span }: Readonly<Record<'account' | 'credential' | 'span', string>>): string {
  const startsAt = `started_at - started_at % ${span === 'hour' ? hourMs : dayMs}`
  const group = account === 'account' ? 'group_id' : 'all_plans'
  const key = `${account} as account, ${startsAt} as starts_at, ${group} as group_id, ${credential} as credential`
  const grouped = `${account === 'account' ? 'account, ' : ''}${startsAt}, ${group}${credential === 'credential' ? ', credential' : ''}`
  const count = (column: 'duration' | 'first_token'): string => `
    select ${key}, 0 as turns, 0 as credits, 0 as input, 0 as cached, 0 as output, 0 as cost,
      ${column === 'duration' ? 'duration' : 'cast(null as integer)'} as duration, ${column === 'duration' ? 'cast(null as integer)' : 'first_token'} as first_token, count(*) as n
    from summed where ${column} is not null group by ${grouped}, ${column}`
  const join = (column: string): string =>
    `coalesce(string_agg(${column} || ':' || n, ' ' order by ${column}) filter (where ${column} is not null), '')`
  return `insert into turn_sum (account, span, starts_at, group_id, credential, turns, credits, input_tokens, cached_input_tokens,
      output_tokens, cost_nanodollars, duration, first_token)
    select account, '${span}', starts_at, group_id, credential, sum(turns), sum(credits), sum(input), sum(cached), sum(output), sum(cost),
      ${join('duration')}, ${join('first_token')}
    from (select ${key}, count(*) as turns, sum(credits) as credits, sum(input_tokens) as input, sum(cached_input_tokens) as cached,
        sum(output_tokens) as output, sum(cost) as cost, cast(null as integer) as duration, cast(null as integer) as first_token, 0 as n
      from summed group by ${grouped} union all ${count('duration')} union all ${count('first_token')}) as parts
    group by account, starts_at, group_id, credential order by account, starts_at, group_id, credential`
}

/** Ten audit records and two orders of each account; of both a few are rare. */
function listRecordStatements(
  kind: 'sqlite' | 'postgres',
  { accounts, begin, end }: HistorySize,
  numbers: (count: number) => string,
): readonly string[] {
  const pad = (prefix: string): string =>
    kind === 'sqlite' ? `printf('${prefix}%010d', i)` : `'${prefix}' || lpad(i::text, 10, '0')`
  const at = (count: number): string => `${begin} + i * ${Math.floor((end - begin) / count)}`
  const [records, orders] = [10 * accounts, 2 * accounts]
  return [
    `insert into audit (id, account, event, at, address, request_id)
      select ${pad('aud_')}, 'acc_' || (i * 7919 % ${accounts - 1}), case when i % 50000 = 7 then 'role_changed' else 'signed_in' end,
        ${at(records)}, '192.0.2.x', 'mbr_' || i from ${numbers(records)}`,
    `insert into sale_order (id, number, account, request, kind, pack_offer, pool, credits, days, event, currency, price, credit, due, provider,
        language, renews, state, refunded, created_at, expires_at, closed_at, checks, version)
      select ${pad('ord_')}, ${pad('2026-')}, 'acc_' || (i * 7919 % ${accounts - 1}), 'request-' || i, 'pack', 'small', 'fast', 1000, 30, 'pack', 'USD',
        500, 0, 500, 'manual', 'en', 0, case when i % 50000 = 7 then 'cancelled' else 'expired' end, 0, ${at(orders)}, ${at(orders)} + ${dayMs},
        ${at(orders)} + ${dayMs}, 0, 1 from ${numbers(orders)}`,
  ]
}
