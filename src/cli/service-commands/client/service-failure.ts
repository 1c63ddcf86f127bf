/** Maps a failure of the service to a failure of the command: exit code, hints and the line `Ref: …`. */
import { formatTime, formatZone } from '../../../system/terminal/format-time.ts'
import type { Action, ErrorCode } from '../../../errors.ts'
import type { ExitName } from '../../exit-code.ts'
import { CommandFailure } from '../../failure.ts'
import { isRecord } from '../../json.ts'
import { sanitizeLine } from '../../terminal/sanitize-text.ts'
import type { LocalizedText } from '../../../command-table/localized-text.ts'
import { signInHint, createVariableHint } from './site.ts'
import type { Credential } from './site.ts'

/** The parts of a failed answer. */
interface FailedResponse {
  readonly status: number
  readonly headers: Headers
  /** The parsed body, of any shape. */
  readonly body: unknown
  /** The request id that was sent. */
  readonly requestId: string
  /** The credential that was sent; undefined where none was. */
  readonly credential?: Pick<Credential, 'from'>
}

/**
 * Shows the service's message in both languages, its actions as hints, and the Ref line. An answer without the service's envelope
 * (a proxy's page, an empty body) gives id, code and stage from its headers; missing parts are shown as unknown.
 */
export function toServiceFailure({ status, headers, body, requestId, credential }: FailedResponse): CommandFailure {
  const envelope = isRecord(body) ? body : {}
  const code = toWord(envelope['code']) ?? toWord(findServiceHeader(headers, 'error-code')) ?? 'unknown'
  const stage = toWord(envelope['stage']) ?? toWord(findServiceHeader(headers, 'error-stage')) ?? 'unknown'
  const id =
    toWord(envelope['requestId']) ??
    toWord(headers.get('x-request-id')) ??
    toWord(findServiceHeader(headers, 'request-id')) ??
    requestId
  const debug = isRecord(envelope['debug']) ? envelope['debug'] : {}
  const retryAfter = parseSeconds(headers.get('retry-after'))
  const up = typeof debug['upstreamStatus'] === 'number' ? ` · up=${debug['upstreamStatus']}` : ''
  return new CommandFailure(code, toMessage(envelope, status), {
    exit: toExitName(code, status),
    hints: [
      ...createHelpHint(headers),
      ...createHints(code, envelope['actions'], { retryAfter, resetsAt: parseQuotaReset(headers) }, credential),
    ],
    ref: `Ref: ${id} · ${code} · stage=${stage} · HTTP ${status}${up}`,
    details: {
      requestId: id,
      stage,
      status,
      actions: toWords(envelope['actions']),
      ...(retryAfter === undefined ? {} : { retryAfter }),
      ...(Object.keys(debug).length > 0 ? { debug } : {}),
    },
  })
}

/** Reads one of the service's own headers under any brand: `x-<brand>-<name>`. */
function findServiceHeader(headers: Headers, name: string): string | null {
  const pattern = new RegExp(`^x-[a-z][a-z0-9]*-${name}$`)
  return [...headers].find(([header]) => pattern.test(header))?.[1] ?? null
}

/** Exit codes by error code; the HTTP status decides for an unknown code. */
function toExitName(code: string, status: number): ExitName {
  if (Object.hasOwn(exitsByCode, code)) return exitsByCode[code as keyof typeof exitsByCode]
  if (code.startsWith('upstream_')) return 'tryAgain'
  if (status === 401) return 'signIn'
  if (status === 402) return 'quota'
  if (status === 404) return 'notFound'
  return status === 429 || status >= 500 ? 'tryAgain' : 'failed'
}

const exitsByCode = {
  sign_in_required: 'signIn',
  access_denied: 'signIn',
  expired_token: 'signIn',
  invalid_grant: 'signIn',
  quota_exceeded: 'quota',
  not_found: 'notFound',
  rate_limited: 'tryAgain',
  internal_error: 'tryAgain',
} as const satisfies Partial<Record<ErrorCode, ExitName>>

function toMessage(envelope: Readonly<Record<string, unknown>>, status: number): LocalizedText {
  const error = isRecord(envelope['error']) ? envelope['error']['message'] : undefined
  const en = toLine(envelope['message']) ?? toLine(error)
  if (en === undefined) {
    return { en: `The server answered HTTP ${status} without an explanation.`, zh: `服务器返回 HTTP ${status}，没有说明原因。` }
  }
  return { en, zh: toLine(envelope['messageZh']) ?? en }
}

/** Suggests sign-in only where the session is missing or invalid, never for a failure of the upstream. */
function createHints(
  code: string,
  actions: unknown,
  { retryAfter, resetsAt }: { readonly retryAfter: number | undefined; readonly resetsAt: Date | undefined },
  credential: FailedResponse['credential'],
): readonly LocalizedText[] {
  if (signInCodes.has(code))
    return [credential === undefined || credential.from === 'file' ? signInHint : createVariableHint(credential.from)]
  return toWords(actions).flatMap((action) => {
    if (!Object.hasOwn(actionHints, action)) return []
    if (action === 'retry_later' && retryAfter !== undefined) {
      return [{ en: `try again in ${retryAfter} s`, zh: `请在 ${retryAfter} 秒后重试` }]
    }
    if (action === 'retry_later' && resetsAt !== undefined) {
      return [
        {
          en: `try again after ${formatTime(resetsAt.getTime(), 'en', Date.now())} (${formatZone(resetsAt.getTime())})`,
          zh: `请在 ${formatTime(resetsAt.getTime(), 'zh', Date.now())}（${formatZone(resetsAt.getTime())}）之后重试`,
        },
      ]
    }
    const hint = actionHints[action as Action]
    return hint === undefined ? [] : [hint]
  })
}

/** The page that explains the code, from the `Link` header of the failure. */
function createHelpHint(headers: Headers): readonly LocalizedText[] {
  const address = /<(https?:\/\/[!-;=?-~]{1,200})>; rel="help"/.exec(headers.get('link') ?? '')?.[1]
  return address === undefined ? [] : [{ en: `explained at: ${address}`, zh: `说明：${address}` }]
}

/** The time at which the quota resets: seconds since the epoch, from the header that carries the service's brand. */
function parseQuotaReset(headers: Headers): Date | undefined {
  const [, value] = [...headers].find(([name]) => /^x-[a-z0-9]+-quota-reset$/.test(name)) ?? []
  return value !== undefined && /^\d{1,12}$/.test(value) ? new Date(Number(value) * 1000) : undefined
}

/** `Retry-After` in seconds. The service never sends its other form, a date. */
function parseSeconds(header: string | null): number | undefined {
  return header !== null && /^\d{1,7}$/.test(header) ? Number(header) : undefined
}

const signInCodes: ReadonlySet<string> = new Set([
  'sign_in_required',
  'access_denied',
  'expired_token',
  'invalid_grant',
] satisfies ErrorCode[])

export const switchModelHint: LocalizedText = {
  en: 'choose another model: svc models, then --model <id>',
  zh: '换用其他模型：svc models，然后 --model <id>',
}

const actionHints: Readonly<Record<Action, LocalizedText | undefined>> = {
  retry_later: { en: 'try again later', zh: '请稍后重试' },
  switch_model: switchModelHint,
  upgrade_plan: { en: 'compare the plans: svc plans', zh: '查看套餐：svc plans' },
  use_boost: { en: 'get more usage: svc boost', zh: '获取加油包：svc boost' },
  shorten_prompt: { en: 'send less text', zh: '请缩短内容' },
  fix_request: { en: 'correct the request', zh: '请修正请求' },
  contact_operator: { en: "tell the service's operator, with the line below", zh: '请将下面一行告知服务管理员' },
  // The error code decides about the sign-in hint, not the actions.
  sign_in: undefined,
  device_login: undefined,
}

function toLine(value: unknown): string | undefined {
  const clean = typeof value === 'string' ? sanitizeLine(value).slice(0, 2000) : ''
  return clean === '' ? undefined : clean
}

/** A short machine-readable token; any other value is left out of the Ref line. */
function toWord(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\w.-]{1,128}$/.test(value) ? value : undefined
}

function toWords(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => toWord(item) !== undefined) : []
}
