/** What nobody offers here: a request that no route took is told what there is, and the operator what was asked for. */
import type { Middleware } from 'koa'
import type { Router } from './router.ts'
import { GatewayError } from '../errors.ts'
import type { Services } from '../gateway/services.ts'
import { exchangeOf } from './door.ts'

type Layers = Router['stack']

/** A path that is known under another method is 405; an unknown one under `/v1`, or one that lacks it, is told what there is. */
export function refuseUnknown(layers: Layers, services: Services): Middleware {
  const offered = layers.filter(({ path }) => String(path).startsWith('/v1/'))
  const list = [
    ...new Set(offered.map(({ methods, path }) => `${methods.find((method) => method !== 'HEAD')} ${String(path)}`)),
  ].join(', ')
  return (ctx) => {
    const methods = new Set(layers.filter((layer) => layer.match(ctx.path)).flatMap((layer) => layer.methods))
    if (methods.size > 0) throw new GatewayError('method_not_allowed', { headers: { allow: [...methods].join(', ') } })
    const meant = meantPath(ctx.path, offered)
    if (meant === null && !ctx.path.startsWith('/v1/')) throw new GatewayError('not_found')
    services.observe.unknownPath(exchangeOf(ctx, 'query', services), meant === null ? knownPath(ctx.path) : misplaced)
    throw new GatewayError('not_found', { message: meant === null ? notOffered(ctx, list) : elsewhere(ctx, meant, services) })
  }
}

/** Of the metric: paths that clients are known to ask for stand for themselves, all others together. */
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

/** An address of ours under another base. */
const misplaced = 'misplaced'

function knownPath(path: string): string {
  return knownPaths.find((known) => path === known || path.startsWith(`${known}/`)) ?? 'other'
}

/** The path that was meant by a client whose base URL lacks `/v1`, has it twice, ends in a slash, or is the address of the chat itself. */
function meantPath(path: string, offered: Layers): string | null {
  const once = path
    .replace(/\/{2,}/g, '/')
    .replace(/^(?:\/v1)+\//, '/')
    .replace(/^\/chat\/completions(?=\/(?:chat\/completions|models)$)/, '')
  const meant = `/v1${once}`
  return offered.some((layer) => layer.match(meant)) ? meant : null
}

interface Asked {
  readonly method: string
  readonly path: string
}

function notOffered({ method, path }: Asked, list: string): { en: string; zh: string } {
  return {
    en: `${method} ${path.slice(0, 80)} is not offered here. Supported: ${list}.`,
    zh: `此处不提供该接口。可用接口:${list}。`,
  }
}

function elsewhere({ method, path }: Asked, meant: string, { origins }: Services): { en: string; zh: string } {
  return {
    en: `There is nothing at ${path.slice(0, 80)}. You mean ${method} ${origins.base}${meant}; set your client's base URL to ${origins.base}/v1.`,
    zh: `该路径不存在。正确的地址是 ${method} ${origins.base}${meant};请将客户端的接口地址(base URL)设为 ${origins.base}/v1。`,
  }
}
