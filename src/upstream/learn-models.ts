/**
 * What an upstream's own list of models tells: which one to ask for where the configuration names none (the first), so that an address and a
 * key are enough to begin with; and how much it can take, so that the cap we add to a request fits. An upstream whose models are all named
 * is not asked: it says so itself, by refusing the first cap that is too large.
 */
import type { GatewayConfig } from '../config/config.ts'
import { isRecord } from '../exchange/chat-request.ts'
import type { PluginLog } from '../exchange/plugin-services.ts'
import { readBounded } from './bounded-body.ts'
import type { Dialect } from './dialect.ts'
import type { Upstream, Upstreams } from './upstreams.ts'

const againMs = 30_000
/** Lists of hundreds of models are a few megabytes. */
const longestList = 16 * 1024 * 1024

export interface LearnOptions {
  readonly config: GatewayConfig
  readonly upstreams: Upstreams
  readonly log: Pick<PluginLog, 'info'>
}

/** Asks now, and again until each upstream has answered. Returns how to stop. */
export function learnModels({ config, upstreams, log }: LearnOptions): () => void {
  const targets = Object.values(config.products).flatMap((product) => product.targets)
  const unnamed = new Set(targets.filter(({ model }) => model === null).map(({ upstream }) => upstream))
  const pending = [...upstreams.all].filter(({ name, config: { baseUrl } }) => unnamed.has(name) && baseUrl !== 'demo')
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  const ask = async (): Promise<void> => {
    for (const upstream of pending.splice(0)) {
      const answer = await modelsOf(upstream)
      if (answer === 'unreachable') pending.push(upstream)
      else learn(upstream, answer)
    }
    if (pending.length > 0 && !stopped) timer = setTimeout(() => void ask(), againMs).unref()
  }
  const learn = (upstream: Upstream, models: readonly ListedModel[]): void => {
    const { name } = upstream
    const [first] = models
    if (first !== undefined) {
      upstreams.list(name, first.id)
      log.info({ upstream: name, model: first.id }, 'no model is configured for this upstream; using the first it lists')
    }
    const used = new Set(targets.filter(({ upstream: of }) => of === name).map(({ model }) => model ?? first?.id))
    for (const model of models) if (used.has(model.id)) takeOver(upstreams.dialect(`${name}/${model.id}`, upstream), model)
  }
  void ask()
  return () => {
    stopped = true
    clearTimeout(timer)
  }
}

export interface ListedModel {
  readonly id: string
  readonly contextLength: number | null
  readonly maxOutput: number | null
}

/** What a target has said in refusing a request is newer than its list. */
function takeOver(dialect: Dialect, { contextLength, maxOutput }: ListedModel): void {
  dialect.contextLength ??= contextLength
  dialect.maxOutput ??= maxOutput
}

/** The models of a list, with the limits that it states, whoever wrote it. */
function listedModels(list: unknown): ListedModel[] {
  const data = isRecord(list) ? (list['data'] ?? list['models']) : list
  if (!Array.isArray(data)) return []
  return (data as unknown[]).flatMap((item) => {
    if (!isRecord(item) || typeof item['id'] !== 'string') return []
    const top = isRecord(item['top_provider']) ? item['top_provider'] : {}
    const meta = isRecord(item['meta']) ? item['meta'] : {}
    return {
      id: item['id'],
      // vLLM and SGLang; OpenRouter and Together; Groq; Mistral; LM Studio's loaded one; llama.cpp.
      contextLength: least(
        item['max_model_len'],
        item['context_length'],
        item['context_window'],
        item['max_context_length'],
        item['loaded_context_length'],
        top['context_length'],
        meta['n_ctx'],
      ),
      maxOutput: least(
        top['max_completion_tokens'],
        item['max_completion_tokens'],
        item['max_output_tokens'],
        item['max_output_length'],
      ),
    }
  })
}

/** The smallest of those that are a number of tokens. */
function least(...values: readonly unknown[]): number | null {
  const numbers = values.filter((value): value is number => typeof value === 'number' && Number.isSafeInteger(value) && value > 0)
  return numbers.length === 0 ? null : Math.min(...numbers)
}

async function modelsOf({ origin, basePath, headers, dispatcher }: Upstream): Promise<readonly ListedModel[] | 'unreachable'> {
  try {
    const { request } = await import('undici')
    const { statusCode, body } = await request(`${origin}${basePath}/models`, {
      dispatcher,
      headers: { ...headers },
      signal: AbortSignal.timeout(10_000),
    })
    if (statusCode !== 200) {
      await body.dump()
      return []
    }
    const text = await readBounded(body, longestList)
    return text === null ? [] : listedModels(JSON.parse(text.toString('utf8')))
  } catch (error) {
    return error instanceof SyntaxError ? [] : 'unreachable'
  }
}
