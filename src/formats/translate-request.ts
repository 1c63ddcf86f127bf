/** Translates bodies of API formats to chat requests: small ones on the serving thread, large ones on the parser's (`translateBody`). */
import type { ApiFormat, ApiFormatName } from '../exchange/api-format/api-format.ts'
import type { BodyTranslator, TranslatedChat, TranslatorSettings } from '../exchange/body-parser/body-parser.ts'
import { parseBody, toChatRequest } from '../exchange/request/chat-request.ts'
import { fitsInHeader, maxNamesInHeader } from '../exchange/request/field-policy.ts'
import { findApiFormat } from './api-formats.ts'
import { isSealed, ReasoningSeal } from './reasoning-seal.ts'

interface TranslationContext {
  /** The account whose sealed reasoning is opened. */
  readonly account: string
  readonly settings: TranslatorSettings
  /** Whether a hosted search may run for the account; default false. */
  readonly hostsSearch?: boolean
}

/** @throws GatewayError `invalid_request`, naming the field in the API format */
export function translateRequest(
  raw: Buffer,
  format: ApiFormat,
  { account, settings, hostsSearch = false }: TranslationContext,
): TranslatedChat {
  const sentBody = parseBody(raw)
  const body = format.addressFields === undefined ? sentBody : { ...sentBody, ...format.addressFields }
  const requestedModel = typeof body['model'] === 'string' ? body['model'] : ''
  const model = resolveModel(requestedModel, format.name, settings)
  const seal = new ReasoningSeal(settings.sealKey, account)
  const { chat, state, ignored, hostedSearch, native, sessionMark } = format.toChat(
    model === requestedModel ? body : { ...body, model },
    {
      unseal: (container) => seal.unseal(container),
      isSealed,
      targetApis: settings.products.get(model),
      hostsSearch,
    },
  )
  return {
    chat: toChatRequest(chat, { bytes: raw.length, format: format.name, hostedSearch, native }),
    state,
    ignored: ignored.filter(fitsInHeader).slice(0, maxNamesInHeader),
    requestedModel,
    ...(sessionMark === undefined ? {} : { sessionMark }),
  }
}

/** An alias is written to the turn log and the log. */
const maxAliasChars = 128

/** Claude Code appends this to the model that a member has chosen for a context of a million tokens. */
const longContextSuffix = '[1m]'

/** The id of a product is itself; another name is the first alias that it matches. */
function resolveModel(requested: string, format: ApiFormatName, { products, aliases }: TranslatorSettings): string {
  if (products.has(requested) || requested.length > maxAliasChars) return requested
  const hasSuffix = format === 'messages' && requested.endsWith(longContextSuffix)
  const model = hasSuffix ? requested.slice(0, -longContextSuffix.length) : requested
  if (products.has(model)) return model
  const match = Object.entries(aliases[format] ?? {}).find(([pattern]) => matchesPattern(model, pattern))
  return match === undefined ? model : match[1]
}

/** Without a regular expression, whose time could grow with a member's text. */
function matchesPattern(model: string, pattern: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return model === pattern
  if (!model.startsWith(first)) return false
  let at = first.length
  for (const part of rest) {
    const position = model.indexOf(part, at)
    if (position === -1) return false
    at = position + part.length
  }
  return model.endsWith(last) && model.length - last.length >= at
}

export const translateBody: BodyTranslator = (raw, { path, ...context }) => {
  const format = findApiFormat(path)
  if (format === undefined) throw new Error(`${path} has no API format of its own`)
  return translateRequest(raw, format, context)
}

/** This module, for the parser's thread. */
export const translatorUrl = import.meta.url
