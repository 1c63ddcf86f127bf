/** Which service is spoken to, and with whose credential. */
import type { Context } from '../context.ts'
import { CredentialStore } from '../credentials.ts'
import { CommandFailure } from '../failure.ts'
import { parseAddress, parseBrand, Settings } from '../settings.ts'
import type { Text } from '../text.ts'

/** Where the service is. */
export interface Site {
  /** `{site_url}`: pages and `/api/membership`. No slash at the end. */
  readonly siteUrl: string
  readonly siteOrigin: string
  /** `{base_url}`: `/v1`. The site serves it too, so without a setting of its own it is the site. */
  readonly apiUrl: string
  readonly apiOrigin: string
  /** What the service's own names begin with: its headers, its products, its client. */
  readonly brand: string
}

export function readSite(context: Context): Site {
  const settings = new Settings(context.environment)
  const site = parseAddress('SVC_SITE_URL', settings.get('site_url').value ?? '')
  const base = settings.get('base_url').value
  // People paste the address that an SDK wants, which ends in /v1.
  const api = base === undefined ? site : parseAddress('SVC_BASE_URL', base.replace(/\/v1\/?$/, ''))
  return {
    siteUrl: trim(site),
    siteOrigin: site.origin,
    apiUrl: trim(api),
    apiOrigin: api.origin,
    brand: parseBrand('SVC_BRAND', settings.get('brand').value ?? 'svc'),
  }
}

/** How a request proves who is asking. */
export interface Credential {
  readonly kind: 'key' | 'session'
  readonly token: string
  readonly from: 'SVC_API_KEY' | 'SVC_TOKEN' | 'file'
}

/**
 * SVC_API_KEY, SVC_TOKEN, then the session of this site. `session` leaves keys out, for the account's own endpoints, which no
 * key opens. Throws `sign_in_required` where there is none, before anything is sent.
 */
export function needCredential(context: Context, site: Site, accept: 'any' | 'session'): Credential {
  const found = findCredential(context, site, accept)
  if (found !== undefined) return found
  if (accept === 'session' && (context.environment.variables['SVC_API_KEY'] ?? '') !== '') {
    throw new CommandFailure(
      'sign_in_required',
      {
        en: 'This needs a signed-in session; the API key in SVC_API_KEY cannot open it.',
        zh: '此操作需要登录会话,SVC_API_KEY 中的 API 密钥无法使用。',
      },
      { exit: 'signIn', hints: [signInHint] },
    )
  }
  throw new CommandFailure(
    'sign_in_required',
    { en: `You are not signed in at ${site.siteOrigin}.`, zh: `尚未登录 ${site.siteOrigin}。` },
    { exit: 'signIn', hints: [signInHint] },
  )
}

function findCredential(context: Context, site: Site, accept: 'any' | 'session'): Credential | undefined {
  const { SVC_API_KEY, SVC_TOKEN } = context.environment.variables
  if (accept === 'any' && SVC_API_KEY !== undefined && SVC_API_KEY !== '')
    return { kind: 'key', token: sendable(SVC_API_KEY, 'SVC_API_KEY'), from: 'SVC_API_KEY' }
  if (SVC_TOKEN !== undefined && SVC_TOKEN !== '')
    return { kind: 'session', token: sendable(SVC_TOKEN, 'SVC_TOKEN'), from: 'SVC_TOKEN' }
  const stored = new CredentialStore(context.environment).read(site.siteOrigin)
  if (stored === undefined) return undefined
  if (stored.apiOrigin !== site.apiOrigin && site.apiOrigin !== site.siteOrigin) {
    throw new CommandFailure(
      'sign_in_required',
      {
        en: `Your session belongs to ${site.siteOrigin} and ${stored.apiOrigin}; it is not sent to ${site.apiOrigin}.`,
        zh: `当前会话属于 ${site.siteOrigin} 和 ${stored.apiOrigin},不会发送到 ${site.apiOrigin}。`,
      },
      {
        exit: 'signIn',
        hints: [
          {
            en: 'run: svc login (with this address set), or correct base_url',
            zh: '请在设置该地址后运行:svc login,或修正 base_url',
          },
        ],
      },
    )
  }
  return { kind: 'session', token: stored.token, from: 'file' }
}

/** What cannot stand in a header is no credential: `fetch` would say so too, with the secret in its words. Blanks around it came with a paste. */
function sendable(value: string, from: 'SVC_API_KEY' | 'SVC_TOKEN'): string {
  const token = value.trim()
  if (/^[!-~]+$/.test(token)) return token
  throw new CommandFailure(
    'sign_in_required',
    {
      en: `${from} holds a character that no credential has, such as a blank, a line end or “…”; nothing was sent.`,
      zh: `${from} 中含有凭据不会包含的字符(例如空格、换行或“…”),未发送任何内容。`,
    },
    { exit: 'signIn', hints: [variableHint(from)] },
  )
}

/** The variable goes before every session, so signing in would change nothing while it is set. */
export function variableHint(name: 'SVC_API_KEY' | 'SVC_TOKEN'): Text {
  return {
    en: `the credential in ${name} is not valid here: correct it, or unset it and run: svc login`,
    zh: `环境变量 ${name} 中的凭据在此无效:请更正,或取消设置后运行:svc login`,
  }
}

export const signInHint = { en: 'run: svc login', zh: '请运行:svc login' }

function trim(url: URL): string {
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '')
}
