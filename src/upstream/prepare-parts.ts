/** Translates the long parts of large requests for upstreams of other APIs, in the parser's thread. */
import type { GatewayConfig } from '../config/config.ts'
import type { PartsPreparer } from '../exchange/body-parser.ts'
import { isTranslatedFor, toMessages, toPartsKey } from '../exchange/request/native-request.ts'
import type { PartsKey } from '../exchange/request/prepared-parts.ts'
import { anthropicFormat } from './anthropic/anthropic-format.ts'
import { geminiFormat } from './gemini-format.ts'
import { responsesFormat } from './responses/responses-format.ts'

export const prepareParts: PartsPreparer = ({ body, messages }, key) => {
  const [format, role] = key.split('/')
  const developerRole = role === 'developer' ? role : 'system'
  const chat = { ...body, messages: toMessages(messages, { developerRole, withoutEncryptedReasoning: false }) }
  return (format === 'anthropic' ? anthropicFormat : format === 'gemini' ? geminiFormat : responsesFormat).prepareParts(chat)
}

/** The forms that the targets of each product need, by its id. */
export function listPartsKeys({ products, upstreams }: GatewayConfig): Readonly<Record<string, readonly PartsKey[]>> {
  return Object.fromEntries(
    Object.entries(products).map(([id, product]) => {
      const serving = [product, ...product.rules.flatMap(({ use }) => products[use] ?? [])]
      const keys = serving.flatMap(({ targets }) =>
        targets.flatMap(({ upstream }) => {
          const config = upstreams[upstream]
          return config !== undefined && isTranslatedFor(config) ? [toPartsKey(config, config.developerRole)] : []
        }),
      )
      return [id, [...new Set(keys)]]
    }),
  )
}

/** This module, for the parser's thread. */
export const preparerUrl = import.meta.url
