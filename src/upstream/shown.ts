/**
 * What of an upstream's answer a member is shown: one rule for whole answers and for the chunks of a stream, decided on what was parsed.
 *
 * Around the words stand the fields that are listed here, and those that the operator has named; whatever else a vendor or a router adds
 * (its costs, its own model ids, whom it asked) is not the member's. Within `delta` and `message` everything passes but what routers
 * put there for themselves. Whatever is called `model`, at any depth, is the product.
 */
import { isRecord } from '../exchange/chat-request.ts'

export interface View {
  readonly productId: string
  /** More fields around the words that this upstream's members may see. */
  readonly more: readonly string[]
}

/** What may stand beside the choices and is worth an event without any: a filter's verdict on the prompt, sources. */
const besideChoices = words(`prompt_filter_results prompt_annotations prompt_logprobs moderation
  citations search_results related_questions images videos web_search`)
/** Of OpenAI, Azure, vLLM, Perplexity and those that speak like them. `usage` is rewritten and not passed. */
const aroundAnswer = words('id object created model choices system_fingerprint service_tier obfuscation metadata')
const aroundWords = words(`index delta message finish_reason logprobs stop_reason matched_stop token_ids
  content_filter_results content_filter_result content_filter_offsets`)
const routersOwn = words('provider_specific_fields provider usage')

/** Whether nothing of it needs to be taken out or renamed but the `model` on top. */
export function isFitToShow(answer: Record<string, unknown>, { more }: View): boolean {
  for (const name in answer) {
    if (!isShown(name, more) && !(name === 'usage' && answer[name] === null)) return false
    if (name !== 'choices' && name !== 'model' && namesModel(answer[name])) return false
  }
  const { choices } = answer
  if (Array.isArray(choices))
    for (const choice of choices as unknown[]) if (isRecord(choice) && !isFitChoice(choice)) return false
  return true
}

function isShown(name: string, more: readonly string[]): boolean {
  return aroundAnswer.has(name) || besideChoices.has(name) || more.includes(name)
}

function isFitChoice(choice: Record<string, unknown>): boolean {
  for (const name in choice) {
    if (!aroundWords.has(name)) return false
    const value = choice[name]
    if (typeof value === 'string' ? name === 'finish_reason' && value === '' : namesModel(value)) return false
  }
  return fitWords(choice['delta']) && fitWords(choice['message'])
}

function fitWords(said: unknown): boolean {
  if (isRecord(said)) for (const name in said) if (routersOwn.has(name)) return false
  return true
}

/** Whether a chunk without a choice says something all the same. */
export function saysMore(chunk: Record<string, unknown>): boolean {
  for (const name in chunk) if (besideChoices.has(name) && chunk[name] !== null) return true
  return false
}

/** The answer as it may be shown, made anew. */
export function shown(answer: Record<string, unknown>, view: View): Record<string, unknown> {
  const { productId, more } = view
  const fit: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(answer)) {
    if (!isShown(name, more)) continue
    if (name === 'model') fit[name] = productId
    else if (name === 'choices') fit[name] = Array.isArray(value) ? value.map((choice) => shownChoice(choice, productId)) : value
    else fit[name] = renamed(value, productId)
  }
  return fit
}

function shownChoice(choice: unknown, productId: string): unknown {
  if (!isRecord(choice)) return choice
  const fit: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(choice)) {
    if (!aroundWords.has(name)) continue
    // Some say it is empty until there is one.
    if (name === 'finish_reason') fit[name] = value === '' ? null : value
    else fit[name] = renamed(name === 'delta' || name === 'message' ? withoutRouters(value) : value, productId)
  }
  return fit
}

function withoutRouters(said: unknown): unknown {
  if (!isRecord(said) || fitWords(said)) return said
  return Object.fromEntries(Object.entries(said).filter(([name]) => !routersOwn.has(name)))
}

/** Whether something in there is called `model`. What a tool is called with is a string, and is not looked into. */
function namesModel(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some(namesModel)
  for (const name in value) {
    const part = (value as Record<string, unknown>)[name]
    if ((name === 'model' && typeof part === 'string') || namesModel(part)) return true
  }
  return false
}

function renamed(value: unknown, productId: string): unknown {
  if (!namesModel(value)) return value
  if (Array.isArray(value)) return value.map((item) => renamed(item, productId))
  return Object.fromEntries(
    Object.entries(value as object).map(([name, part]) => [
      name,
      name === 'model' && typeof part === 'string' ? productId : renamed(part, productId),
    ]),
  )
}

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/))
}
