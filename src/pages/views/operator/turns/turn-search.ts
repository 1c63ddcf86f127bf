/** The filters of turns in an address: read, with a word for each that cannot be used, and written. */
import { createFieldError } from '../../../components/forms/fields.ts'
import { interpolate } from '../../../page.ts'
import type { OperatorContext } from '../../../page.ts'
import type { TurnFilter } from '../../../../domain/turn-history/turn-history.ts'
import { parseTime } from './parse-time.ts'

export const searchFields = ['member', 'key', 'product', 'target', 'ending', 'plan', 'from', 'to', 'request'] as const
export type SearchField = (typeof searchFields)[number]

const maxChars: Readonly<Record<SearchField, number>> = {
  member: 320,
  key: 64,
  product: 128,
  target: 256,
  ending: 64,
  plan: 64,
  from: 100,
  to: 100,
  request: 128,
}
/** `ending`: whatever the code. */
export const anyFailure = 'failed'
/** `ending`: those that count for a share of success, and of these the ones that failed. */
export const successEndings = ['rated', 'faults'] as const
/** `target`: no upstream was called. No target has this name, because it has no slash. */
export const noTarget = 'none'

export type SearchValues = Readonly<Partial<Record<SearchField, string>>>

export interface TurnSearch {
  readonly typed: SearchValues
  readonly filter: TurnFilter
  /** What cannot be searched for, in words. */
  readonly faults: SearchValues
}

export async function readTurnSearch(
  context: OperatorContext,
  fields: readonly SearchField[] = searchFields,
): Promise<TurnSearch> {
  const typedFields: Partial<Record<SearchField, string>> = {}
  const faults: Partial<Record<SearchField, string>> = {}
  for (const name of fields) {
    const text = (context.query.get(name) ?? '').trim()
    if (text === '') continue
    typedFields[name] = text.slice(0, maxChars[name])
    const fault = findFault(context, name, text)
    if (fault !== null) faults[name] = fault
  }
  const filter = await toFilter(context, typedFields, faults)
  return { typed: typedFields, filter, faults }
}

/** `?member=…`, or nothing. */
export function toSearchQuery(values: SearchValues, cursor?: string): string {
  const entries = Object.entries({ ...values, cursor }).filter((entry): entry is [string, string] => (entry[1] ?? '') !== '')
  return entries.length === 0 ? '' : `?${new URLSearchParams(entries)}`
}

/** What the text alone tells. */
function findFault({ t, language, services }: OperatorContext, name: SearchField, text: string): string | null {
  const { turns: texts } = t.console
  const say = (fault: 'tooLong' | 'unusable'): string => {
    const error = createFieldError(name, fault, { max: maxChars[name] })
    return language === 'zh' ? error.messageZh : error.message
  }
  if (text.length > maxChars[name]) return say('tooLong')
  if (/\p{C}/u.test(text)) return say('unusable')
  if (name === 'key' && !/^\w+$/.test(text)) return texts.noKey
  if (name === 'ending' && !/^[a-z_]+$/.test(text)) return texts.noEnding
  if (name === 'target' && text !== noTarget && !text.includes('/')) return texts.noSuchTarget
  if (name !== 'from' && name !== 'to') return null
  const time = parseTime(text, services.config.timeZone)
  if (time.kind === 'no_zone') return interpolate(texts.noZone, { zone: time.zone })
  return time.kind === 'no_time' ? texts.noTime : null
}

function toEndingFilter(ending: string | undefined): Pick<TurnFilter, 'ending' | 'failedOnly' | 'success'> {
  const success = successEndings.find((name) => name === ending)
  if (ending === undefined) return {}
  if (success !== undefined) return { success }
  return ending === anyFailure ? { failedOnly: true } : { ending }
}

/** What can be used of it; adds what only the store knows to `faults`. */
async function toFilter(
  { t, services }: OperatorContext,
  typed: SearchValues,
  faults: Partial<Record<SearchField, string>>,
): Promise<TurnFilter> {
  const { turns: texts } = t.console
  const use = (name: SearchField): string | undefined => (faults[name] === undefined ? typed[name] : undefined)
  const useTime = (name: 'from' | 'to'): number | undefined => {
    const text = use(name)
    const time = text === undefined ? undefined : parseTime(text, services.config.timeZone)
    return time?.kind === 'good' ? time.at : undefined
  }
  const [member, key, product, target, ending, plan, requestId] = [
    use('member'),
    use('key'),
    use('product'),
    use('target'),
    use('ending'),
    use('plan'),
    use('request'),
  ]
  const [from, to] = [useTime('from'), useTime('to')]
  const account = member === undefined ? undefined : await services.store.accounts.find(member)
  // A deleted account is found by its id.
  if (member !== undefined && account === undefined && !/^acc_\w{1,40}$/.test(member)) faults.member = texts.noMember
  if (key !== undefined && member === undefined && (await services.store.apiKeys.find(key)) === undefined)
    faults.key = texts.keyNeedsMember
  if (from !== undefined && to !== undefined && from >= to) faults.to = texts.endsBefore
  return {
    ...(member === undefined ? {} : { account: account?.id ?? member }),
    ...(key === undefined ? {} : { credential: key }),
    ...(product === undefined ? {} : { product }),
    ...(target === undefined ? {} : { target: target === noTarget ? '' : target }),
    ...toEndingFilter(ending),
    ...(plan === undefined ? {} : { plan }),
    ...(requestId === undefined ? {} : { requestId }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  }
}
