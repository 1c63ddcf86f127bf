/** The address of the service and the credential for it. */
import type { Context } from '../../context.ts'
import { CredentialStore } from '../../user-config/credentials.ts'
import { CommandFailure } from '../../failure.ts'
import { parseUrlSetting, parseBrandSetting, Settings } from '../../user-config/settings.ts'
import type { LocalizedText } from '../../../command-table/localized-text.ts'

/** The addresses of the service. */
export interface Site {
  /** `{site_url}`: pages and `/api/membership`. No trailing slash. */
  readonly siteUrl: string
  readonly siteOrigin: string
  /** `{base_url}`: `/v1`. Defaults to the site, which serves it too. */
  readonly apiUrl: string
  readonly apiOrigin: string
  /** Prefix of the service's own names: its headers, its products, its client. */
  readonly brand: string
}

export function readSite(context: Context): Site {
  const settings = new Settings(context.environment)
  const site = parseUrlSetting('SVC_SITE_URL', settings.get('site_url').value ?? '')
  const base = settings.get('base_url').value
  // Users paste the address that an SDK expects, which ends in /v1.
  const api = base === undefined ? site : parseUrlSetting('SVC_BASE_URL', base.replace(/\/v1\/?$/, ''))
  return {
    siteUrl: trimTrailingSlash(site),
    siteOrigin: site.origin,
    apiUrl: trimTrailingSlash(api),
    apiOrigin: api.origin,
    brand: parseBrandSetting('SVC_BRAND', settings.get('brand').value ?? 'svc'),
  }
}

/** The credential of a request. */
export interface Credential {
  readonly kind: 'key' | 'session'
  readonly token: string
  readonly from: 'SVC_API_KEY' | 'SVC_TOKEN' | 'file'
}

/**
 * Returns SVC_API_KEY, else SVC_TOKEN, else the stored session of this site. Throws `sign_in_required` before anything is sent when
 * there is none. `session` is for the account's own endpoints, which no key opens: it refuses while SVC_API_KEY is set, because the
 * session may belong to another account than the key.
 */
export function requireCredential(context: Context, site: Site, accept: 'any' | 'session'): Credential {
  if (accept === 'session' && (context.environment.variables['SVC_API_KEY'] ?? '') !== '') {
    throw new CommandFailure(
      'sign_in_required',
      {
        en: 'SVC_API_KEY is set, and an API key does not open this command. A session may belong to another account, so nothing was sent.',
        zh: '已设置 SVC_API_KEY，而 API 密钥无法用于此命令。本机的登录可能属于另一个账户，因此未发送任何内容。',
      },
      {
        exit: 'signIn',
        hints: [
          {
            en: 'to use the account of a session: unset SVC_API_KEY, and run: svc login, if you are not signed in',
            zh: '如需使用本机登录的账户：请取消设置 SVC_API_KEY；若尚未登录，请运行：svc login',
          },
        ],
      },
    )
  }
  const credential = findCredential(context, site, accept)
  if (credential !== undefined) return credential
  throw new CommandFailure(
    'sign_in_required',
    { en: `You are not signed in at ${site.siteOrigin}.`, zh: `尚未登录 ${site.siteOrigin}。` },
    { exit: 'signIn', hints: [signInHint] },
  )
}

function findCredential(context: Context, site: Site, accept: 'any' | 'session'): Credential | undefined {
  const { SVC_API_KEY, SVC_TOKEN } = context.environment.variables
  if (accept === 'any' && SVC_API_KEY !== undefined && SVC_API_KEY !== '')
    return { kind: 'key', token: assertSendableToken(SVC_API_KEY, 'SVC_API_KEY'), from: 'SVC_API_KEY' }
  if (SVC_TOKEN !== undefined && SVC_TOKEN !== '')
    return { kind: 'session', token: assertSendableToken(SVC_TOKEN, 'SVC_TOKEN'), from: 'SVC_TOKEN' }
  const storedSession = new CredentialStore(context.environment).read(site.siteOrigin)
  if (storedSession === undefined) return undefined
  if (storedSession.apiOrigin !== site.apiOrigin && site.apiOrigin !== site.siteOrigin) {
    throw new CommandFailure(
      'sign_in_required',
      {
        en: `Your session belongs to ${site.siteOrigin} and ${storedSession.apiOrigin}; it is not sent to ${site.apiOrigin}.`,
        zh: `当前登录属于 ${site.siteOrigin} 和 ${storedSession.apiOrigin}，不会发送到 ${site.apiOrigin}。`,
      },
      {
        exit: 'signIn',
        hints: [
          {
            en: 'run: svc login (with this address set), or correct base_url',
            zh: '请在设置该地址后运行：svc login，或修正 base_url',
          },
        ],
      },
    )
  }
  return { kind: 'session', token: storedSession.token, from: 'file' }
}

/** Refuses a value that no header can carry, because the error of `fetch` would contain the secret. Spaces around it came with a paste. */
function assertSendableToken(value: string, from: 'SVC_API_KEY' | 'SVC_TOKEN'): string {
  const token = value.trim()
  if (/^[!-~]+$/.test(token)) return token
  throw new CommandFailure(
    'sign_in_required',
    {
      en: `${from} contains a character that no credential has, such as a space, a line end or “…”; nothing was sent.`,
      zh: `${from} 中含有凭据不会包含的字符（例如空格、换行或“…”），未发送任何内容。`,
    },
    { exit: 'signIn', hints: [createVariableHint(from)] },
  )
}

/** The variable takes precedence over every session, so signing in has no effect while it is set. */
export function createVariableHint(name: 'SVC_API_KEY' | 'SVC_TOKEN'): LocalizedText {
  return {
    en: `the credential in ${name} is not valid here: correct it, or unset it and run: svc login`,
    zh: `环境变量 ${name} 中的凭据在此无效：请更正，或取消设置后运行：svc login`,
  }
}

export const signInHint = { en: 'run: svc login', zh: '请运行：svc login' }

function trimTrailingSlash(url: URL): string {
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '')
}
