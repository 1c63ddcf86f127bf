/** What an operator opens: each list, search and chart of console and operator API, with drawn filters, as paths below the gateway's address. */
import type { Random } from '../../test/simulated/random.ts'
import type { HistorySize } from './make-history.ts'
import { heavyAccount } from './make-history.ts'

export type Read = () => string

const dayMs = 86_400_000
const hourMs = 3_600_000

export function listReads({ turns, accounts, begin, end }: HistorySize, random: Random): Readonly<Record<string, Read>> {
  const account = (): string => `acc_${random.below(accounts - 1)}`
  const at = (): number => begin + Math.floor(random.number() * (end - begin))
  const turn = (): number => 1 + random.below(turns)
  const instant = (ms: number): string => new Date(ms).toISOString()
  const span = (from: number, to: number): string => `from=${instant(from)}&to=${instant(to)}`
  const last = (days: number): string => span(end - days * dayMs, end)
  const anyHour = (): string => {
    const from = at()
    return span(from, from + hourMs)
  }
  const api = (path: string): string => `/api/operator/v1/${path}`
  const page = (path: string): string => `/operator${path}`
  const filters: Readonly<Record<string, () => string>> = {
    all: () => '',
    'from any page': () => `cursor=${at()}.1`,
    'of a member': () => `member=${account()}`,
    'of a member, failed': () => `member=${account()}&failed=true`,
    'of a member, by key and product': () => `member=${account()}&key=key_1&product=product-2`,
    'of the largest member, a rare code': () => `member=${heavyAccount}&ending=rare_code`,
    'of the largest member, failed, from any page': () => `member=${heavyAccount}&failed=true&cursor=${at()}.1`,
    'of a product': () => `product=product-${random.below(4)}`,
    'of a target, a code': () => `target=upstream-1/model&ending=upstream_error`,
    'a rare code': () => 'ending=rare_code',
    'of a plan': () => 'plan=free',
    'of a plan, failed, in an hour': () => `plan=pro&failed=true&${anyHour()}`,
    'failed, in an hour': () => `failed=true&${anyHour()}`,
    'of a request': () => `request=mbr_${turn()}`,
    'of an unknown request': () => 'request=mbr_none',
  }
  // What the form of the page has another name for.
  const toPageFilter = (filter: string): string => filter.replace('failed=true', 'ending=failed')
  return {
    ...Object.fromEntries(
      Object.entries(filters).map(([name, filter]) => [`API: turns ${name}`, () => api(`turns?${filter()}`)]),
    ),
    'API: a turn': () => api(`turns/${turn()}`),
    'API: failures of a day': () => api(`failures?${last(1)}`),
    'API: failures of 31 days': () => api(`failures?${last(31)}`),
    'API: failures of the largest member, 31 days': () => api(`failures?member=${heavyAccount}&${last(31)}`),
    'API: usage of a day by hour and product': () => api(`usage?by=product&${last(1)}`),
    'API: usage of 8 days by hour and ending': () => api(`usage?by=ending&${last(8)}`),
    'API: usage of 31 days by day and target': () => api(`usage?step=day&by=target&${last(31)}`),
    'API: usage of a member, 31 days by day and key': () => api(`usage?step=day&by=key&member=${account()}&${last(31)}`),
    'API: usage of the largest member, 31 days by day': () => api(`usage?step=day&by=product&member=${heavyAccount}&${last(31)}`),
    'API: usage of the largest member, 8 days by hour': () => api(`usage?by=ending&member=${heavyAccount}&${last(8)}`),
    'API: members': () => api('members?limit=200'),
    'API: members by address': () => api(`members?q=member-${1 + random.below(accounts)}@example.org`),
    'API: members by request': () => api(`members?q=mbr_${turn()}`),
    'API: members by an unknown request': () => api('members?q=mbr_unknown'),
    'API: a member': () => api(`members/${account()}`),
    'API: turns of a member': () => api(`members/${account()}/turns?limit=100`),
    'API: statement of a member': () => api(`members/${account()}/statement?limit=100`),
    'API: statement of the largest member': () => api(`members/${heavyAccount}/statement?limit=100`),
    'API: audit of a member': () => api(`members/${account()}/audit`),
    'API: audit': () => api('audit'),
    'API: audit, a rare event': () => api('audit?event=role_changed'),
    'API: audit, an event that never was': () => api('audit?event=order_disputed'),
    'API: audit of a day': () => api(`audit?event=role_changed&since=${instant(end - dayMs)}`),
    'API: orders': () => api('orders'),
    'API: orders, a rare state': () => api('orders?state=cancelled'),
    'API: orders, a state that none has': () => api('orders?state=disputed'),
    'API: orders of a provider that has none': () => api('orders?provider=stripe'),
    'API: orders of a member': () => api(`orders?member=${account()}`),
    'page: now': () => page(''),
    'page: members': () => page('/members'),
    'page: members by request': () => page(`/members?q=mbr_${turn()}`),
    'page: a member': () => page(`/members/${account()}`),
    'page: the largest member': () => page(`/members/${heavyAccount}`),
    ...Object.fromEntries(
      Object.entries(filters).map(([name, filter]) => [`page: turns ${name}`, () => page(`/turns?${toPageFilter(filter())}`)]),
    ),
    'page: a turn': () => page(`/turns/${turn()}`),
    'page: failures of a day': () => page('/failures'),
    'page: failures of 31 days': () => page(`/failures?${last(31)}`),
    'page: audit': () => page('/audit'),
    'page: audit, a rare event': () => page('/audit?event=role_changed'),
    'page: orders': () => page('/orders'),
    'page: orders, a rare state': () => page('/orders?state=cancelled'),
    'page: system': () => page('/system'),
  }
}
