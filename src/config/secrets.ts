/** Lists the secrets of a configuration, so that they can be masked in text that comes from elsewhere. */
import type { GatewayConfig } from './schema/config-schema.ts'
import { toBasicAuthorization } from './redact-url.ts'

/** Shorter values are not listed: they are no secrets, and masking them would make the log unreadable. */
const minSecretLength = 6

/** Header names whose values are credentials. Other configured headers are ordinary words. */
const credentialHeader = /auth|key|token|secret|cookie|password/i

/** Every secret of the configuration in each form in which another program may repeat it, the longest first. */
export function collectSecrets(config: GatewayConfig): string[] {
  const { upstreams, search, metrics, store, limits, mail, signIn, backup, notifications, payments } = config
  const secrets = [
    ...Object.values(upstreams).flatMap(({ apiKey, baseUrl, headers }) => [
      apiKey,
      ...listUrlSecrets(baseUrl),
      ...listCredentialHeaders(headers),
    ]),
    search.apiKey,
    ...listUrlSecrets(search.searxngUrl),
    ...listUrlSecrets(search.endpoint),
    metrics.token,
    store.secretKey,
    backup === null || typeof backup.to === 'string' ? null : backup.to.secretAccessKey,
    ...listUrlSecrets(store.url),
    ...listUrlSecrets(limits.url),
    ...listUrlSecrets(mail.smtpUrl),
    ...Object.values(notifications.people).flatMap(({ url, secret, token, headers }) => [
      // Chats have a key in the path or the query of their address.
      url,
      secret,
      token,
      ...listCredentialHeaders(headers),
    ]),
    ...Object.values(notifications.webhooks).flatMap(({ url, secret, previousSecret }) => [
      new URL(url).search === '' ? null : url,
      secret,
      previousSecret,
    ]),
    ...Object.values(signIn.providers).map(({ clientSecret }) => clientSecret),
    ...listNamedSecrets(payments.providers),
  ].filter((secret): secret is string => secret !== null && secret.length >= minSecretLength)
  return [...new Set(secrets)].toSorted((one, other) => other.length - one.length)
}

function listCredentialHeaders(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).flatMap(([name, value]) => (credentialHeader.test(name) ? listHeaderSecrets(value) : []))
}

/** Texts whose key names a credential, at any depth: the options of a provider of payments are its own. */
function listNamedSecrets(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) =>
    typeof inner === 'string' ? (credentialHeader.test(name) ? [inner] : []) : listNamedSecrets(inner),
  )
}

/** The value, and without its scheme. */
function listHeaderSecrets(value: string): string[] {
  return [value, value.replace(/^(?:bearer|basic)\s+/i, '')]
}

/** The password as written and decoded, and the pair in base64. */
function listUrlSecrets(url: string | null): string[] {
  // A PostgreSQL URL may name several hosts, which `URL` does not parse.
  const password = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*?:([^/?#]*)@/i.exec(url ?? '')?.[1]
  if (url === null || password === undefined || password === '') return []
  const secrets = [password, decode(password)]
  const basic = URL.canParse(url) ? toBasicAuthorization(new URL(url)) : null
  return basic === null ? secrets : [...secrets, basic.slice('Basic '.length)]
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
