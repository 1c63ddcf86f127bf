/**
 * The checks of `svc-gateway doctor` on upstreams: whether each can be reached, lists the configured models, answers a chat, and reads
 * pictures where a product is sold with them.
 */
import { systemClock } from '../../../system/clock.ts'
import { request } from 'undici'
import type { GatewayConfig } from '../../../config/config.ts'
import { isRecord } from '../../../exchange/request/chat-request.ts'
import type { HealthCheck } from '../../../services/health/health-checks.ts'
import { requestIdHeader } from '../../../upstream/attempt-request.ts'
import { sanitizeText } from '../../../upstream/errors/sanitize-text.ts'
import { readGeminiName } from '../../../upstream/target/model-discovery.ts'
import { chatPath } from '../../../upstream/format/upstream-format.ts'
import { Upstreams } from '../../../upstream/target/upstreams.ts'
import type { Upstream } from '../../../upstream/target/upstreams.ts'
import { describeError } from './describe-error.ts'
import { parseJson, tryParseJson } from '../../../system/parse-json.ts'

/** Timeout of each request. */
const timeoutMs = 10_000

/** @param deep whether each model is also asked for one token, and about a picture where it serves a product with `vision` */
export async function checkUpstreams(config: GatewayConfig, deep: boolean): Promise<HealthCheck[]> {
  const all = new Upstreams(config, null, () => 0)
  try {
    const findings = await Promise.all(
      [...all.all].map(async (upstream) => {
        const models = getConfiguredModels(upstream.name, config)
        const { listed, ...listing } = await checkUpstream(upstream, models, needsModelList(upstream.name, config))
        if (!deep || upstream.config.baseUrl === 'demo') return [listing]
        const [first = null] = listed ?? []
        const triedModels = models.size > 0 ? [...models] : first === null ? [] : [first]
        const chats = triedModels.map((model) => checkChat(upstream, model, `chat ${upstream.name}/${model}`, 'Hi'))
        const pictures = listVisionTargets(upstream.name, config).flatMap(({ product, model = first }) =>
          model === null ? [] : [checkChat(upstream, model, `pictures ${product} (${upstream.name}/${model})`, picturePrompt)],
        )
        return [listing, ...(await Promise.all([...chats, ...pictures]))]
      }),
    )
    return findings.flat()
  } finally {
    await all.close()
  }
}

/** The models that the upstream `main` lists, or a sentence that says why they are not known. */
export async function listMainModels(config: GatewayConfig): Promise<readonly string[] | string> {
  const all = new Upstreams(config, null, () => 0)
  try {
    const main = all.get('main')
    if (main === undefined) return 'There is no upstream.'
    const { listed, detail } = await checkUpstream(main, new Set(), true)
    return listed === undefined ? detail : [...listed]
  } finally {
    await all.close()
  }
}

function getConfiguredModels(name: string, { products }: GatewayConfig): ReadonlySet<string> {
  const targets = Object.values(products).flatMap((product) => product.targets)
  return new Set(targets.flatMap(({ upstream, model }) => (upstream === name && model !== null ? [model] : [])))
}

/** The products that are sold with `vision` and have a target of this upstream. Without a model the first one listed serves them. */
function listVisionTargets(
  name: string,
  { products }: GatewayConfig,
): readonly { readonly product: string; readonly model: string | undefined }[] {
  return Object.entries(products).flatMap(([product, { capabilities, targets }]) =>
    capabilities.includes('vision')
      ? targets.flatMap(({ upstream, model }) => (upstream === name ? [{ product, model: model ?? undefined }] : []))
      : [],
  )
}

/** Whether a target of this upstream names no model, so that the first of its list is used. */
function needsModelList(name: string, { products }: GatewayConfig): boolean {
  return Object.values(products).some(({ targets }) => targets.some(({ upstream, model }) => upstream === name && model === null))
}

async function checkUpstream(
  { name, origin, basePath, headers, dispatcher, config, format }: Upstream,
  configuredModels: ReadonlySet<string>,
  isListNeeded: boolean,
): Promise<HealthCheck & { readonly listed?: ReadonlySet<string> }> {
  const what = `upstream ${name}`
  if (config.baseUrl === 'demo')
    return { what, ok: true, detail: 'the built-in demonstration; set UPSTREAM_BASE_URL for a real one' }
  const baseUrl = `${origin}${basePath}`
  const fetchModels = async (base: string): Promise<{ readonly statusCode: number; readonly text: string }> => {
    const { statusCode, body } = await request(`${base}${format?.modelsPath ?? '/models'}`, {
      dispatcher,
      headers: { ...headers },
      signal: systemClock.deadline(timeoutMs),
    })
    return { statusCode, text: await body.text() }
  }
  try {
    const { statusCode, text } = await fetchModels(baseUrl)
    if (statusCode === 401 || statusCode === 403)
      return { what, ok: false, detail: `${origin} refuses the key (HTTP ${statusCode}); check UPSTREAM_API_KEY` }
    if (statusCode >= 500) {
      const consequence = isListNeeded
        ? 'turns fail until it can, because a target names no model for it'
        : 'its turns may fail too'
      return { what, ok: false, detail: `${baseUrl} cannot list its models (HTTP ${statusCode}); ${consequence}` }
    }
    const listedModels = statusCode === 200 ? parseModelIds(text) : null
    if (listedModels === null) {
      const likelyUrl = guessBaseUrl(baseUrl)
      const likelyResponse = await fetchModels(likelyUrl).catch(() => null)
      if (likelyResponse?.statusCode === 200 && parseModelIds(likelyResponse.text) !== null)
        return { what, ok: false, detail: `its API is at ${likelyUrl}, not at ${baseUrl}; set UPSTREAM_BASE_URL to that` }
      return {
        what,
        ok: true,
        detail: `${baseUrl} answers, but lists no models (HTTP ${statusCode}): their names are not checked`,
      }
    }
    const unknown = [...configuredModels].filter((model) => !listedModels.has(model))
    if (unknown.length > 0)
      return {
        what,
        ok: false,
        detail: `${baseUrl} does not list ${unknown.map((id) => `'${id}'`).join(', ')}; it lists ${formatSample(listedModels)}`,
      }
    return {
      what,
      ok: true,
      listed: listedModels,
      detail: `${baseUrl} answers and lists ${configuredModels.size === 0 ? formatSample(listedModels) : [...configuredModels].join(', ')}`,
    }
  } catch (error) {
    return { what, ok: false, detail: `${origin} cannot be reached (${describeError(error)}); check UPSTREAM_BASE_URL` }
  }
}

/** A red pixel. */
const pixel = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC'
const picturePrompt = [
  { type: 'text', text: 'Which colour is this?' },
  { type: 'image_url', image_url: { url: pixel } },
]

/** A server that reads pictures may refuse one of one pixel for its size. */
const tooSmall = /\b(?:too small|must be (?:larger|greater|at least)|minimum (?:size|dimension|width|height))\b/i

/**
 * A chat of one token with the headers that turns have: a server may list its models and refuse every chat, or every picture.
 * @param what the name of the finding
 */
async function checkChat(
  { origin, basePath, headers, dispatcher, config, format }: Upstream,
  model: string,
  what: string,
  content: unknown,
): Promise<HealthCheck> {
  try {
    const chat = { model, messages: [{ role: 'user', content }], [config.maxTokensField]: 1 }
    const { statusCode, body } = await request(`${origin}${basePath}${format?.toPath(chat) ?? chatPath}`, {
      method: 'POST',
      dispatcher,
      headers: { [requestIdHeader]: 'mbr_doctor', ...headers },
      body: JSON.stringify(format?.toRequest(chat) ?? chat),
      signal: systemClock.deadline(timeoutMs),
    })
    const text = await body.text()
    const error = sanitizeText(text.slice(0, maxShownAnswer))
    if (statusCode === 400 && content === picturePrompt && tooSmall.test(text))
      return { what, ok: true, detail: 'reads pictures, but not one of one pixel' }
    if (statusCode !== 200)
      return { what, ok: false, detail: `answers HTTP ${statusCode}${error === '' ? ' without a word' : `: ${error}`}` }
    const answer = tryParseJson(text)
    const isCompletion =
      isRecord(answer) &&
      (format === null ? answer['choices'] !== undefined : format.createDecoder('doctor').decodeWhole(answer) !== null)
    return isCompletion
      ? { what, ok: true, detail: 'answered one token' }
      : { what, ok: false, detail: 'answers HTTP 200, but no completion' }
  } catch (error) {
    return { what, ok: false, detail: `gave no answer (${describeError(error)})` }
  }
}

/** Characters of an upstream's error. */
const maxShownAnswer = 300

/** A likely correction of an upstream address: its path lacks `/v1`, or includes that of the chat endpoint. */
function guessBaseUrl(place: string): string {
  const path = [chatPath, '/messages', '/responses'].find((each) => place.endsWith(each))
  return path === undefined ? `${place}/v1` : place.slice(0, -path.length)
}

function parseModelIds(text: string): ReadonlySet<string> | null {
  try {
    const list: unknown = parseJson(text)
    const data = isRecord(list) ? (list['data'] ?? list['models']) : null
    if (!Array.isArray(data)) return null
    return new Set(
      (data as unknown[]).flatMap((one) => {
        const id = isRecord(one) ? (one['id'] ?? readGeminiName(one)) : undefined
        return typeof id === 'string' ? [id] : []
      }),
    )
  } catch {
    return null
  }
}

const maxShownModels = 5

function formatSample(ids: ReadonlySet<string>): string {
  const shownIds = [...ids].slice(0, maxShownModels).join(', ')
  return ids.size > maxShownModels ? `${shownIds} and ${ids.size - maxShownModels} more` : shownIds || 'none'
}
