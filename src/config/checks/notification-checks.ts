/** Rules over several keys of `notifications`. */
import { anyEmailDomain, parseEmail } from '../../domain/identity/email/email-address.ts'
import { tryParseJson } from '../../system/parse-json.ts'
import type { GatewayConfig } from '../schema/config-schema.ts'
import { findHeaderErrors, isHeaderValue } from './header-checks.ts'
import { isPrivateHost } from '../private-host.ts'

type NotificationConfig = GatewayConfig['notifications']
type PersonReceiver = NotificationConfig['people'][string]

/** What a template may name, as `{{title}}`. */
const templateFields = ['title', 'text', 'kind', 'phase', 'subject', 'time', 'service'] as const
export const templateFieldPattern = /\{\{\s*(\w*)\s*\}\}/g

/** The keys that each kind of receiver needs, and those that it may have besides. */
const keysByKind: Readonly<
  Record<PersonReceiver['kind'], { readonly needs: readonly ReceiverKey[]; readonly may: readonly ReceiverKey[] }>
> = {
  mail: { needs: ['to'], may: [] },
  slack: { needs: ['url'], may: [] },
  feishu: { needs: ['url'], may: ['secret'] },
  wecom: { needs: ['url'], may: [] },
  dingtalk: { needs: ['url'], may: ['secret'] },
  telegram: { needs: ['token', 'chatId'], may: ['url'] },
  discord: { needs: ['url'], may: [] },
  ntfy: { needs: ['url', 'topic'], may: ['token'] },
  template: { needs: ['url', 'body'], may: [] },
}
type ReceiverKey = 'to' | 'url' | 'secret' | 'token' | 'chatId' | 'topic' | 'body'
const receiverKeys: readonly ReceiverKey[] = ['to', 'url', 'secret', 'token', 'chatId', 'topic', 'body']

export function findNotificationErrors({ notifications: { people, webhooks } }: GatewayConfig): string[] {
  return [
    ...Object.entries(people).flatMap(([name, receiver]) => findReceiverErrors(`notifications.people.${name}`, receiver)),
    ...Object.entries(webhooks).flatMap(([name, webhook]) => [
      ...findAddressErrors(`notifications.webhooks.${name}`, webhook),
      ...(['secret', 'previousSecret'] as const).flatMap((key) =>
        webhook[key] === null || isWebhookSecret(webhook[key])
          ? []
          : [
              `notifications.webhooks.${name}.${key} must be whsec_ and 24 to 64 bytes in base64; make one with: openssl rand -base64 32.`,
            ],
      ),
      ...(Object.hasOwn(people, name)
        ? [`notifications.webhooks.${name}: notifications.people has this name too; each receiver needs a name of its own.`]
        : []),
    ]),
  ]
}

function findReceiverErrors(place: string, receiver: PersonReceiver): string[] {
  const { kind, to, token, body, headers } = receiver
  const { needs, may } = keysByKind[kind]
  return [
    ...needs.filter((key) => receiver[key] === null).map((key) => `${place}.${key} is needed for the kind '${kind}'.`),
    ...receiverKeys
      .filter((key) => receiver[key] !== null && !needs.includes(key) && !may.includes(key))
      .map((key) => `${place}.${key} could never take effect: the kind '${kind}' has none.`),
    ...(kind !== 'template' && Object.keys(headers).length > 0
      ? [`${place}.headers could never take effect: only a 'template' has them.`]
      : []),
    ...findHeaderErrors(place, headers),
    ...(token === null || isHeaderValue(token)
      ? []
      : [`${place}.token has a character that a header cannot contain; it may have been copied with surrounding text.`]),
    ...(to !== null && parseEmail(to, anyEmailDomain).kind !== 'good' ? [`${place}.to must be one email address.`] : []),
    ...findAddressErrors(place, receiver),
    ...(body === null ? [] : findTemplateErrors(place, body)),
  ]
}

/** Without the address itself, which often contains a key. */
function findAddressErrors(
  place: string,
  { url, allowPrivate }: { readonly url: string | null; readonly allowPrivate: boolean },
): string[] {
  if (url === null || !URL.canParse(url)) return []
  const { protocol, hostname, username, password } = new URL(url)
  const isPrivate = isPrivateHost(hostname)
  return [
    ...(isPrivate && !allowPrivate
      ? [`${place}.url: ${hostname} is an address of a private network; allow it with allowPrivate: true.`]
      : []),
    ...(!isPrivate && protocol !== 'https:'
      ? [`${place}.url: plain http to ${hostname} would send events in the clear; use https.`]
      : []),
    ...(username + password === '' ? [] : [`${place}.url must have no user and password.`]),
  ]
}

function findTemplateErrors(place: string, body: Exclude<PersonReceiver['body'], null>): string[] {
  const parsedBody = parseTemplate(body)
  if (parsedBody === undefined) return [`${place}.body is not JSON.`]
  const text = JSON.stringify(parsedBody)
  const unknown = [...text.matchAll(templateFieldPattern)].flatMap(([field, name = '']) =>
    (templateFields as readonly string[]).includes(name) ? [] : [field],
  )
  return unknown.length === 0
    ? []
    : [`${place}.body: there is no ${unknown[0]}; there are ${templateFields.map((name) => `{{${name}}}`).join(', ')}.`]
}

/** Undefined if it is not JSON. */
export function parseTemplate(body: string | Readonly<Record<string, unknown>>): unknown {
  return tryParseJson(typeof body === 'string' ? body : JSON.stringify(body))
}

function isWebhookSecret(secret: string): boolean {
  const encodedKey = secret.replace(/^whsec_/, '')
  const bytes = Buffer.from(encodedKey, 'base64').length
  return /^[A-Za-z0-9+/]+={0,2}$/.test(encodedKey) && bytes >= 24 && bytes <= 64
}
