/** Answers requests that no route matches: the message lists the endpoints, and a metric counts the unknown path. */
import type { Middleware } from 'koa'
import type { Router } from '../system/vendor/koa-router.ts'
import { GatewayError } from '../errors.ts'
import type { Services } from '../services/services.ts'
import { getExchange } from './request-context.ts'

type Layers = Router['stack']

/** 405 for a known path with another method. An unknown path under `/v1`, or one that lacks `/v1`, gets a message that names the right one. */
export function createNotFoundHandler(layers: Layers, services: Services): Middleware {
  const apiRoutes = layers.filter(({ path }) => /^\/v1(?:beta)?\//.test(String(path)))
  const list = [
    ...new Set(
      apiRoutes.map(({ methods, path }) => `${methods.find((method) => method !== 'HEAD')} ${String(path).replaceAll('\\', '')}`),
    ),
  ].join(', ')
  return (ctx) => {
    const matchingLayers = layers.filter((layer) => layer.match(ctx.path) && !namesUnknownMethod(ctx.path, layer))
    const methods = new Set(matchingLayers.flatMap((layer) => layer.methods))
    if (methods.size > 0) throw new GatewayError('method_not_allowed', { headers: { allow: [...methods].join(', ') } })
    const intendedPath = guessIntendedPath(ctx.path, apiRoutes)
    if (intendedPath === null && !/^\/v1(?:beta)?\//.test(ctx.path)) throw new GatewayError('not_found')
    services.telemetry.recordUnknownPath(
      getExchange(ctx, 'unmetered', services),
      intendedPath === null ? toKnownPath(ctx.path) : misplacedLabel,
    )
    throw new GatewayError('not_found', {
      message: intendedPath === null ? createNotFoundMessage(ctx, list) : createMisplacedMessage(ctx, intendedPath, services),
    })
  }
}

/** The part behind the colon of the Gemini API is no part of a model's id. */
function namesUnknownMethod(path: string, layer: Layers[number]): boolean {
  return /^\/v1(?:beta)?\/models\/[^/]+:\w+$/.test(path) && /\/models\/:\w+$/.test(String(layer.path))
}

/** Paths with a metric label of their own, because clients are known to request them; all others share one label. */
const knownPaths = [
  '/v1/assistants',
  '/v1/audio/speech',
  '/v1/audio/transcriptions',
  '/v1/audio/translations',
  '/v1/batches',
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/containers',
  '/v1/conversations',
  '/v1/embeddings',
  '/v1/engines',
  '/v1/files',
  '/v1/fine_tuning',
  '/v1/images/edits',
  '/v1/images/variations',
  '/v1/messages',
  '/v1/models',
  '/v1/moderations',
  '/v1/realtime',
  '/v1/rerank',
  '/v1/responses',
  '/v1/threads',
  '/v1/uploads',
  '/v1/vector_stores',
  '/v1/videos',
] as const

/** Metric label of one of our paths under a wrong base. */
const misplacedLabel = 'misplaced'

function toKnownPath(path: string): string {
  return knownPaths.find((known) => path === known || path.startsWith(`${known}/`)) ?? 'other'
}

/** Guesses the intended path of a client whose base URL lacks `/v1`, has it twice, ends in a slash, or is the chat endpoint itself. */
function guessIntendedPath(path: string, apiRoutes: Layers): string | null {
  const once = path
    .replace(/\/{2,}/g, '/')
    .replace(/^(?:\/v1)+\//, '/')
    .replace(/(?<=.)\/$/, '')
    .replace(/^\/chat\/completions(?=\/(?:chat\/completions|models)$)/, '')
  // Clients of the Gemini API append `/v1beta` themselves.
  const intendedPath = once.startsWith('/v1beta/') ? once.replace(/^(?:\/v1beta)+/, '/v1beta') : `/v1${once}`
  if (intendedPath === path) return null
  return apiRoutes.some((layer) => layer.match(intendedPath)) ? intendedPath : null
}

interface RequestTarget {
  readonly method: string
  readonly path: string
}

function createNotFoundMessage({ method, path }: RequestTarget, list: string): { en: string; zh: string } {
  if (path === '/v1/completions')
    return {
      en: 'Text completions are not offered here. Send the prompt as a message to POST /v1/chat/completions: "messages": [{"role": "user", "content": "…"}].',
      zh: '此处不提供文本补全。请将提示词作为消息发送到 POST /v1/chat/completions:"messages": [{"role": "user", "content": "…"}]。',
    }
  if (path === '/v1/responses/compact')
    return {
      en: 'The service does not compact conversations. Send a turn to POST /v1/responses that asks for a summary, and continue with it.',
      zh: '此处不提供对话压缩接口。请向 POST /v1/responses 发送一次请求来生成摘要，再以摘要继续对话。',
    }
  if (path.startsWith('/v1/responses/'))
    return {
      en: 'Responses are not stored here. Send the whole conversation as the input of POST /v1/responses.',
      zh: '此处不保存回答。请将完整对话作为 POST /v1/responses 的 input 发送。',
    }
  return {
    en: `${method} ${path.slice(0, 80)} is not offered here. Supported: ${list}.`,
    zh: `此处不提供该接口。可用接口：${list}。`,
  }
}

function createMisplacedMessage(
  { method, path }: RequestTarget,
  intendedPath: string,
  { origins }: Pick<Services, 'origins'>,
): { en: string; zh: string } {
  // Clients of the Messages and Gemini APIs append the version themselves.
  const appendsVersion =
    intendedPath.startsWith('/v1beta/') || (intendedPath.startsWith('/v1/messages') && path.startsWith('/v1/v1/'))
  const base = appendsVersion ? origins.base : `${origins.base}/v1`
  return {
    en: `There is nothing at ${path.slice(0, 80)}. You mean ${method} ${origins.base}${intendedPath}; set your client's base URL to ${base}.`,
    zh: `该路径不存在。正确的地址是 ${method} ${origins.base}${intendedPath}；请将客户端的接口地址（base URL）设为 ${base}。`,
  }
}
