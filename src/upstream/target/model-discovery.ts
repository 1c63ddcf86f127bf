/**
 * Reads an upstream's model list: which model to use if the configuration names none (the first), so that an address and a key suffice to
 * start; and the models' limits, so that the added cap fits. Upstreams whose models are all named are not queried: they reject the first
 * cap that is too large, which states the limit.
 */
import type { GatewayConfig } from '../../config/config.ts'
import { isRecord } from '../../exchange/request/chat-request.ts'
import type { PluginLog } from '../../exchange/plugins/plugin-services.ts'
import { readBounded } from '../bounded-body.ts'
import type { Dialect } from './dialect.ts'
import type { Upstream, Upstreams } from './upstreams.ts'
import type { Clock, Timer } from '../../system/clock.ts'
import { parseJson } from '../../system/parse-json.ts'

/** The pause before the next query doubles from the first to the last. A server that is loading answers 5xx for seconds or minutes. */
const [firstRetryMs, maxRetryMs] = [1_000, 60_000]
/** Lists of hundreds of models are a few megabytes. */
const maxListBytes = 16 * 1024 * 1024
const listTimeoutMs = 10_000

interface ModelDiscoveryOptions {
  readonly config: GatewayConfig
  readonly upstreams: Upstreams
  readonly log: Pick<PluginLog, 'info' | 'warn'>
  readonly clock: Clock
}

/** Queries at once, and again until each upstream has responded. Returns a function that stops it. */
export function startModelDiscovery({ config, upstreams, log, clock }: ModelDiscoveryOptions): () => void {
  const targets = Object.values(config.products).flatMap((product) => product.targets)
  const unnamedUpstreams = new Set(targets.filter(({ model }) => model === null).map(({ upstream }) => upstream))
  const pendingUpstreams = [...upstreams.all].filter(
    ({ name, config: { baseUrl } }) => unnamedUpstreams.has(name) && baseUrl !== 'demo',
  )
  let timer: Timer | undefined
  let stopped = false
  let pauseMs = firstRetryMs
  const reportedUpstreams = new Set<string>()
  const poll = async (): Promise<void> => {
    for (const upstream of pendingUpstreams.splice(0)) {
      const result = await fetchModels(upstream, clock)
      if (typeof result !== 'string') {
        upstreams.unreadModelLists.delete(upstream.name)
        applyModels(upstream, result)
        continue
      }
      pendingUpstreams.push(upstream)
      upstreams.unreadModelLists.add(upstream.name)
      if (stopped || reportedUpstreams.has(upstream.name)) continue
      reportedUpstreams.add(upstream.name)
      log.warn({ upstream: upstream.name, reason: result }, 'cannot read the models of this upstream yet; asking again')
    }
    if (pendingUpstreams.length === 0 || stopped) return
    timer = clock.after(pauseMs, () => void poll()).unref()
    pauseMs = Math.min(pauseMs * 2, maxRetryMs)
  }
  const applyModels = (upstream: Upstream, models: readonly ListedModel[]): void => {
    const { name } = upstream
    const [first] = models
    if (first !== undefined) {
      upstreams.setDefaultModel(name, first.id)
      log.info({ upstream: name, model: first.id }, 'no model is configured for this upstream; using the first it lists')
    }
    const usedModels = new Set(targets.filter(({ upstream: of }) => of === name).map(({ model }) => model ?? first?.id))
    for (const model of models)
      if (usedModels.has(model.id)) applyLimits(upstreams.getDialect(`${name}/${model.id}`, upstream), model)
  }
  void poll()
  return () => {
    stopped = true
    timer?.cancel()
  }
}

interface ListedModel {
  readonly id: string
  readonly contextLength: number | null
  readonly maxOutputTokens: number | null
}

/** A limit learned from a rejection is newer than the list. */
function applyLimits(dialect: Dialect, { contextLength, maxOutputTokens }: ListedModel): void {
  dialect.contextLength ??= contextLength
  dialect.maxOutputTokens ??= maxOutputTokens
}

/** The models of a list and their limits, in any vendor's format. */
function parseModelList(list: unknown): ListedModel[] {
  const data = isRecord(list) ? (list['data'] ?? list['models']) : list
  if (!Array.isArray(data)) return []
  return (data as unknown[]).flatMap((item) => {
    const id = isRecord(item) ? (item['id'] ?? readGeminiName(item)) : undefined
    if (!isRecord(item) || typeof id !== 'string') return []
    const top = isRecord(item['top_provider']) ? item['top_provider'] : {}
    const meta = isRecord(item['meta']) ? item['meta'] : {}
    return {
      id,
      // vLLM and SGLang; OpenRouter and Together; Groq; Mistral; LM Studio's loaded model; llama.cpp; Anthropic; Gemini.
      contextLength: minTokenCount(
        item['max_model_len'],
        item['context_length'],
        item['context_window'],
        item['max_context_length'],
        item['loaded_context_length'],
        top['context_length'],
        meta['n_ctx'],
        item['max_input_tokens'],
        item['inputTokenLimit'],
      ),
      maxOutputTokens: minTokenCount(
        top['max_completion_tokens'],
        item['max_completion_tokens'],
        item['max_output_tokens'],
        item['max_output_length'],
        item['outputTokenLimit'],
        // Other servers give a default in this field.
        item['type'] === 'model' ? item['max_tokens'] : undefined,
      ),
    }
  })
}

/** Gemini's list also has models for other endpoints. */
export function readGeminiName({ name, supportedGenerationMethods: methods }: Record<string, unknown>): string | undefined {
  if (typeof name !== 'string' || !name.startsWith('models/')) return undefined
  return Array.isArray(methods) && !methods.includes('generateContent') ? undefined : name.slice('models/'.length)
}

/** The smallest valid token count. */
function minTokenCount(...values: readonly unknown[]): number | null {
  const numbers = values.filter((value): value is number => typeof value === 'number' && Number.isSafeInteger(value) && value > 0)
  return numbers.length === 0 ? null : Math.min(...numbers)
}

async function fetchModels(
  { origin, basePath, headers, dispatcher, format }: Upstream,
  clock: Clock,
): Promise<readonly ListedModel[] | 'unreachable' | 'failing'> {
  try {
    const { request } = await import('undici')
    const { statusCode, body } = await request(`${origin}${basePath}${format?.modelsPath ?? '/models'}`, {
      dispatcher,
      headers: { ...headers },
      signal: clock.deadline(listTimeoutMs),
    })
    if (statusCode !== 200) {
      await body.dump()
      return statusCode >= 500 ? 'failing' : []
    }
    const text = await readBounded(body, maxListBytes)
    return text === null ? [] : parseModelList(parseJson(text.toString('utf8')))
  } catch (error) {
    return error instanceof SyntaxError ? [] : 'unreachable'
  }
}
