/**
 * What to ask an upstream for where the configuration names no model: the first that it lists itself. So an address and a key are
 * enough to begin with, as for a server that runs just one model.
 */
import { request } from 'undici'
import { isRecord } from '../exchange/chat-request.ts'
import type { Services } from '../services.ts'
import type { Upstream } from './upstreams.ts'

const againMs = 30_000

/** Asks now, and again until each upstream has answered. Returns how to stop. */
export function learnModels(services: Services): () => void {
  const { config, upstreams } = services
  const unnamed = new Set(
    Object.values(config.products).flatMap(({ targets }) =>
      targets.filter(({ model }) => model === null).map(({ upstream }) => upstream),
    ),
  )
  const pending = [...upstreams.all].filter(({ name, config: { baseUrl } }) => unnamed.has(name) && baseUrl !== 'demo')
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  const ask = async (): Promise<void> => {
    for (const upstream of pending.splice(0)) {
      const answer = await firstModel(upstream)
      if (answer === 'unreachable') pending.push(upstream)
      else if (answer !== null) {
        upstreams.list(upstream.name, answer)
        services.log.info(
          { upstream: upstream.name, model: answer },
          'no model is configured for this upstream; using the first it lists',
        )
      }
    }
    if (pending.length > 0 && !stopped) timer = setTimeout(() => void ask(), againMs).unref()
  }
  void ask()
  return () => {
    stopped = true
    clearTimeout(timer)
  }
}

/** The first id of its list; null when it has none to tell. */
async function firstModel({ origin, basePath, headers, dispatcher }: Upstream): Promise<string | 'unreachable' | null> {
  try {
    const response = await request(`${origin}${basePath}/models`, {
      dispatcher,
      headers: { ...headers },
      signal: AbortSignal.timeout(10_000),
    })
    if (response.statusCode !== 200) {
      await response.body.dump()
      return null
    }
    const list: unknown = await response.body.json()
    const data = isRecord(list) && Array.isArray(list['data']) ? (list['data'] as unknown[]) : []
    const [first] = data
    return isRecord(first) && typeof first['id'] === 'string' ? first['id'] : null
  } catch (error) {
    return error instanceof SyntaxError ? null : 'unreachable'
  }
}
