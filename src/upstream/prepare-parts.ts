/** Translates the long parts of large requests for their targets, in the parser's thread. */
import { encodeChatParts } from '../codecs/chat/request/chat-parts.ts'
import type { GatewayConfig } from '../config/config.ts'
import { plainChatTarget } from '../exchange/request/form/request-form.ts'
import type { TargetApi, TargetFacts } from '../exchange/request/form/request-form.ts'
import { findNativeParts, toFormMessages } from '../exchange/request/form/target-request.ts'
import type { PartsEncoder } from '../exchange/request/form/target-request.ts'
import { anthropicFormat } from './format/anthropic-format.ts'
import { geminiFormat } from './format/gemini-format.ts'
import { responsesFormat } from './format/responses-format.ts'
import { toTargetApi } from './target/dialect.ts'
import type { Upstreams } from './target/upstreams.ts'

export const prepareParts: PartsEncoder = (chat, form) => {
  if (form.api === 'chat') return encodeChatParts(chat, form)
  const native = findNativeParts(chat, form)
  if (native !== null) return native
  const { messages, dropped } = toFormMessages(chat, form)
  const { fields, facts } = formats[form.api].prepareParts({
    ...chat.body,
    messages,
  })
  return { fields, facts, dropped }
}

const formats = { anthropic: anthropicFormat, gemini: geminiFormat, responses: responsesFormat } as const

/** What is known of the targets of each product, by its id. */
export function listTargetFacts(
  { products }: Pick<GatewayConfig, 'products'>,
  upstreams: Pick<Upstreams, 'listTargets'>,
): Readonly<Record<string, readonly TargetFacts[]>> {
  return Object.fromEntries(
    Object.entries(products).map(([id, product]) => {
      const facts = findServing(products, id).flatMap(([name, { targets }]) =>
        upstreams.listTargets(targets, name).flatMap(({ dialect }) => dialect.describeAll()),
      )
      return [id, product.capabilities.includes('image') ? [...facts, plainChatTarget] : facts]
    }),
  )
}

/** The APIs of the targets that may serve each product, by its id. */
export function listTargetApis({
  products,
  upstreams,
}: Pick<GatewayConfig, 'products' | 'upstreams'>): ReadonlyMap<string, ReadonlySet<TargetApi>> {
  return new Map(
    Object.keys(products).map((id) => {
      const targets = findServing(products, id).flatMap(([, product]) => product.targets)
      return [id, new Set(targets.map(({ upstream }) => toTargetApi(upstreams[upstream] ?? {})))]
    }),
  )
}

/** The product, and those whose targets serve it by a rule. */
function findServing(products: GatewayConfig['products'], id: string): (readonly [string, GatewayConfig['products'][string]])[] {
  const ids = [id, ...(products[id]?.rules ?? []).map(({ use }) => use)]
  return ids.flatMap((each) => {
    const product = products[each]
    return product === undefined ? [] : [[each, product] as const]
  })
}

/** This module, for the parser's thread. */
export const preparerUrl = import.meta.url
