/** A failure that the service has told, as a failure of the command: exit code, hints and the line `Ref: …`. */
import type { Action, Code } from '../../errors.ts'
import type { ExitName } from '../exit-code.ts'
import { CommandFailure } from '../failure.ts'
import { isRecord } from '../record.ts'
import { terminalLine } from '../terminal-text.ts'
import type { Text } from '../text.ts'
import { signInHint, variableHint } from './site.ts'
import type { Credential } from './site.ts'

/** What is known of an answer that is a failure. */
export interface FailedAnswer {
  readonly status: number
  readonly headers: Headers
  /** The parsed body, whatever it is. */
  readonly body: unknown
  /** The id that was sent. */
  readonly requestId: string
  /** What was sent to prove who asks; undefined where nothing was. */
  readonly credential?: Pick<Credential, 'from'>
}

/**
 * The service's own words: its message in both languages, its actions as hints, and the Ref line. Where the answer is not the
 * service's envelope (a proxy's page, an empty body) id, code and stage come from the headers, and what is still unknown is said to be.
 */
export function serviceFailure({ status, headers, body, requestId, credential }: FailedAnswer): CommandFailure {
  const envelope = isRecord(body) ? body : {}
  const code = word(envelope['code']) ?? word(own(headers, 'error-code')) ?? 'unknown'
  const stage = word(envelope['stage']) ?? word(own(headers, 'error-stage')) ?? 'unknown'
  const id = word(envelope['requestId']) ?? word(headers.get('x-request-id')) ?? word(own(headers, 'request-id')) ?? requestId
  const debug = isRecord(envelope['debug']) ? envelope['debug'] : {}
  const retryAfter = seconds(headers.get('retry-after'))
  const up = typeof debug['upstreamStatus'] === 'number' ? ` · up=${debug['upstreamStatus']}` : ''
  return new CommandFailure(code, sentence(envelope, status), {
    exit: exitOf(code, status),
    hints: hints(code, envelope['actions'], { retryAfter, resetsAt: resetIn(headers) }, credential),
    ref: `Ref: ${id} · ${code} · stage=${stage} · HTTP ${status}${up}`,
    details: {
      requestId: id,
      stage,
      status,
      actions: words(envelope['actions']),
      ...(retryAfter === undefined ? {} : { retryAfter }),
      ...(Object.keys(debug).length > 0 ? { debug } : {}),
    },
  })
}

/** One of the service's own headers, whatever its brand: `x-<brand>-<name>`. */
function own(headers: Headers, name: string): string | null {
  const pattern = new RegExp(`^x-[a-z][a-z0-9]*-${name}$`)
  return [...headers].find(([header]) => pattern.test(header))?.[1] ?? null
}

/** Exit codes by the catalogue's codes; an unknown code is judged by its status. */
function exitOf(code: string, status: number): ExitName {
  if (Object.hasOwn(exits, code)) return exits[code as keyof typeof exits]
  if (code.startsWith('upstream_')) return 'tryAgain'
  if (status === 401) return 'signIn'
  if (status === 402) return 'quota'
  if (status === 404) return 'notFound'
  return status === 429 || status >= 500 ? 'tryAgain' : 'failed'
}

const exits = {
  sign_in_required: 'signIn',
  access_denied: 'signIn',
  expired_token: 'signIn',
  invalid_grant: 'signIn',
  quota_exceeded: 'quota',
  not_found: 'notFound',
  rate_limited: 'tryAgain',
  internal_error: 'tryAgain',
} as const satisfies Partial<Record<Code, ExitName>>

function sentence(envelope: Readonly<Record<string, unknown>>, status: number): Text {
  const error = isRecord(envelope['error']) ? envelope['error']['message'] : undefined
  const en = line(envelope['message']) ?? line(error)
  if (en === undefined) {
    return { en: `The server answered HTTP ${status} without an explanation.`, zh: `服务器返回 HTTP ${status},没有说明原因。` }
  }
  return { en, zh: line(envelope['messageZh']) ?? en }
}

/** Sign-in is suggested only where signing in is what is missing: never for a failure of the upstream. */
function hints(
  code: string,
  actions: unknown,
  { retryAfter, resetsAt }: { readonly retryAfter: number | undefined; readonly resetsAt: Date | undefined },
  credential: FailedAnswer['credential'],
): readonly Text[] {
  if (signInCodes.has(code))
    return [credential === undefined || credential.from === 'file' ? signInHint : variableHint(credential.from)]
  return words(actions).flatMap((action) => {
    if (!Object.hasOwn(actionHints, action)) return []
    if (action === 'retry_later' && retryAfter !== undefined) {
      return [{ en: `try again in ${retryAfter} s`, zh: `请在 ${retryAfter} 秒后重试` }]
    }
    if (action === 'retry_later' && resetsAt !== undefined) {
      return [{ en: `try again after ${resetsAt.toLocaleString('en')}`, zh: `请在 ${resetsAt.toLocaleString('zh')} 之后重试` }]
    }
    const hint = actionHints[action as Action]
    return hint === undefined ? [] : [hint]
  })
}

/** When used-up quota comes back: seconds since the epoch, under the name that the service's brand gives the header. */
function resetIn(headers: Headers): Date | undefined {
  const [, value] = [...headers].find(([name]) => /^x-[a-z0-9]+-quota-reset$/.test(name)) ?? []
  return value !== undefined && /^\d{1,12}$/.test(value) ? new Date(Number(value) * 1000) : undefined
}

/** `Retry-After` in seconds; its other form, a date, is not one the service sends. */
function seconds(header: string | null): number | undefined {
  return header !== null && /^\d{1,7}$/.test(header) ? Number(header) : undefined
}

const signInCodes: ReadonlySet<string> = new Set([
  'sign_in_required',
  'access_denied',
  'expired_token',
  'invalid_grant',
] satisfies Code[])

const actionHints: Readonly<Record<Action, Text | undefined>> = {
  retry_later: { en: 'try again later', zh: '请稍后重试' },
  switch_model: { en: 'choose another model: svc models, then --model <id>', zh: '换用其他模型:svc models,然后 --model <id>' },
  upgrade_plan: { en: 'compare the plans: svc plans', zh: '查看套餐:svc plans' },
  use_boost: { en: 'get more usage: svc boost', zh: '获取加油包:svc boost' },
  shorten_prompt: { en: 'send less text', zh: '请缩短内容' },
  fix_request: { en: 'correct the request', zh: '请修正请求' },
  contact_operator: { en: "tell the service's operator, with the line below", zh: '请将下面一行告知服务管理员' },
  // Signing in is suggested by code, not by action.
  sign_in: undefined,
  device_login: undefined,
}

function line(value: unknown): string | undefined {
  const clean = typeof value === 'string' ? terminalLine(value).slice(0, 2000) : ''
  return clean === '' ? undefined : clean
}

/** A short machine word; anything else in its place is not shown in the Ref line. */
function word(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\w.-]{1,128}$/.test(value) ? value : undefined
}

function words(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => word(item) !== undefined) : []
}
