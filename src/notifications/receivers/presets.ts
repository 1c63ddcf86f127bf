/** The request that each chat program expects, and how its answer shows that it took the message. */
import { createHmac } from 'node:crypto'
import { parseTemplate, templateFieldPattern } from '../../config/checks/notification-checks.ts'
import type { GatewayConfig } from '../../config/config.ts'
import { tryParseJson } from '../../system/parse-json.ts'
import type { EventMessage } from '../render-event.ts'
import type { Answer, OutgoingRequest } from './post-json.ts'

export type PersonReceiver = GatewayConfig['notifications']['people'][string]
type PresetKind = Exclude<PersonReceiver['kind'], 'mail'>

interface Preset {
  /** What the program accepts from one sender; more are refused, or lock it out for a while. */
  readonly maxPerMinute: number
  createRequest(
    receiver: PersonReceiver,
    message: EventMessage,
    now: number,
  ): Omit<OutgoingRequest, 'body'> & { readonly body: unknown }
  /** With HTTP status 2xx: why the program refused it all the same, or null. */
  findRefusal?(answer: Record<string, unknown>): string | null
}

const toText = ({ title, text }: EventMessage): string => `${title}\n${text}`
const getUrl = ({ url }: PersonReceiver): string => url ?? ''
const hmac = (key: string, text: string): string => createHmac('sha256', key).update(text).digest('base64')

/** Robots of WeCom and DingTalk. */
const findErrorCode = ({ errcode }: Record<string, unknown>): string | null =>
  errcode === 0 ? null : `refused with the code ${formatCode(errcode)}`

export const presets: Readonly<Record<PresetKind, Preset>> = {
  slack: {
    maxPerMinute: 60,
    createRequest: (receiver, message) => ({
      url: getUrl(receiver),
      headers: {},
      body: { text: toText(message).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;') },
    }),
  },
  discord: {
    maxPerMinute: 30,
    // Without it a text with @everyone would notify all.
    createRequest: (receiver, message) => ({
      url: getUrl(receiver),
      headers: {},
      body: { content: toText(message), allowed_mentions: { parse: [] } },
    }),
  },
  feishu: {
    maxPerMinute: 100,
    createRequest: (receiver, message, now) => {
      const timestamp = String(Math.floor(now / 1000))
      const signature = receiver.secret === null ? {} : { timestamp, sign: hmac(`${timestamp}\n${receiver.secret}`, '') }
      return {
        url: getUrl(receiver),
        headers: {},
        body: { ...signature, msg_type: 'text', content: { text: toText(message) } },
      }
    },
    findRefusal: ({ code, StatusCode: statusCode }) =>
      (code ?? statusCode) === 0 ? null : `refused with the code ${formatCode(code ?? statusCode)}`,
  },
  wecom: {
    maxPerMinute: 20,
    createRequest: (receiver, message) => ({
      url: getUrl(receiver),
      headers: {},
      body: { msgtype: 'text', text: { content: toText(message) } },
    }),
    findRefusal: findErrorCode,
  },
  dingtalk: {
    maxPerMinute: 20,
    createRequest: (receiver, message, now) => {
      const url = new URL(getUrl(receiver))
      if (receiver.secret !== null) {
        url.searchParams.set('timestamp', String(now))
        url.searchParams.set('sign', hmac(receiver.secret, `${now}\n${receiver.secret}`))
      }
      return { url: url.href, headers: {}, body: { msgtype: 'text', text: { content: toText(message) } } }
    },
    findRefusal: findErrorCode,
  },
  telegram: {
    maxPerMinute: 20,
    createRequest: ({ url, token, chatId }, message) => ({
      url: `${(url ?? 'https://api.telegram.org').replace(/\/+$/, '')}/bot${token ?? ''}/sendMessage`,
      headers: {},
      body: { chat_id: chatId, text: toText(message), link_preview_options: { is_disabled: true } },
    }),
    findRefusal: ({ ok, error_code: code }) => (ok === true ? null : `refused with the code ${formatCode(code)}`),
  },
  ntfy: {
    maxPerMinute: 60,
    createRequest: ({ url, topic, token }, { title, text, phase }) => ({
      url: url ?? '',
      headers: token === null ? {} : { authorization: `Bearer ${token}` },
      body: {
        topic,
        title,
        message: text,
        ...(phase === 'began' ? { priority: 4, tags: ['warning'] } : { priority: 3, tags: ['white_check_mark'] }),
      },
    }),
  },
  template: {
    maxPerMinute: 600,
    createRequest: ({ url, body, headers }, message) => ({
      url: url ?? '',
      headers,
      body: body === null ? {} : fillTemplate(parseTemplate(body), message),
    }),
  },
}

/** Why the answer means that the message was not taken; null if it was. */
export function findRefusal(kind: PresetKind, { status, text }: Answer): string | null {
  if (status < 200 || status > 299) return `HTTP ${status}`
  const { findRefusal: findInAnswer } = presets[kind]
  if (findInAnswer === undefined) return null
  const answer = text === null ? undefined : tryParseJson(text)
  return isObject(answer) ? findInAnswer(answer) : 'the answer is not that of this chat program'
}

/** Replaces `{{name}}` in every text of the template, however deep; names of fields stay. */
function fillTemplate(template: unknown, message: EventMessage): unknown {
  if (typeof template === 'string')
    return template.replaceAll(templateFieldPattern, (field, name: string) =>
      Object.hasOwn(message, name) ? message[name as keyof EventMessage] : field,
    )
  if (Array.isArray(template)) return template.map((item) => fillTemplate(item, message))
  if (!isObject(template)) return template
  return Object.fromEntries(Object.entries(template).map(([name, value]) => [name, fillTemplate(value, message)]))
}

/** Another program's text is not repeated. */
function formatCode(code: unknown): string {
  return typeof code === 'number' ? String(code) : 'unknown'
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
