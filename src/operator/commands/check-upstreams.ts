/** The checks of `svc-gateway doctor` on upstreams: whether each can be reached, lists the configured models, and answers a chat. */
import { request } from 'undici'
import type { GatewayConfig } from '../../config/config.ts'
import { isRecord } from '../../exchange/request/chat-request.ts'
import type { HealthCheck } from '../../services/health-checks.ts'
import { requestIdHeader } from '../../upstream/attempt.ts'
import { sanitizeText } from '../../upstream/errors/sanitize-text.ts'
import { chatPath } from '../../upstream/upstream-format.ts'
import { Upstreams } from '../../upstream/target/upstreams.ts'
import type { Upstream } from '../../upstream/target/upstreams.ts'
import { describeError } from './describe-error.ts'
import { parseJson, tryParseJson } from '../../system/parse-json.ts'

/** Timeout of each request. */
const timeoutMs = 10_000

/** @param deep whether each model is also asked for one token */
export async function checkUpstreams(config: GatewayConfig, deep: boolean): Promise<HealthCheck[]> {
  const all = new Upstreams(config, null, () => 0)
  try {
    const findings = await Promise.all(
      [...all.all].map(async (upstream) => {
        const models = getConfiguredModels(upstream.name, config)
        const { listed, ...listing } = await checkUpstream(upstream, models, needsModelList(upstream.name, config))
        if (!deep || upstream.config.baseUrl === 'demo') return [listing]
        const [first = null] = listed ?? []
        const tried = models.size > 0 ? [...models] : first === null ? [] : [first]
        return [listing, ...(await Promise.all(tried.map((model) => checkChat(upstream, model))))]
      }),
    )
    return findings.flat()
  } finally {
    await all.close()
  }
}

function getConfiguredModels(name: string, { products }: GatewayConfig): ReadonlySet<string> {
  const targets = Object.values(products).flatMap((product) => product.targets)
  return new Set(targets.flatMap(({ upstream, model }) => (upstream === name && model !== null ? [model] : [])))
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
      signal: AbortSignal.timeout(timeoutMs),
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
    const listed = statusCode === 200 ? parseModelIds(text) : null
    if (listed === null) {
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
    const unknown = [...configuredModels].filter((model) => !listed.has(model))
    if (unknown.length > 0)
      return {
        what,
        ok: false,
        detail: `${baseUrl} does not list ${unknown.map((id) => `'${id}'`).join(', ')}; it lists ${formatSample(listed)}`,
      }
    return {
      what,
      ok: true,
      listed,
      detail: `${baseUrl} answers and lists ${configuredModels.size === 0 ? formatSample(listed) : [...configuredModels].join(', ')}`,
    }
  } catch (error) {
    return { what, ok: false, detail: `${origin} cannot be reached (${describeError(error)}); check UPSTREAM_BASE_URL` }
  }
}

/** A chat of one token with the headers that turns have: a server may list its models and refuse every chat. */
async function checkChat(
  { name, origin, basePath, headers, dispatcher, config, format }: Upstream,
  model: string,
): Promise<HealthCheck> {
  const what = `chat ${name}/${model}`
  try {
    const chat = { model, messages: [{ role: 'user', content: 'Hi' }], [config.maxTokensField]: 1 }
    const { statusCode, body } = await request(`${origin}${basePath}${format?.path ?? chatPath}`, {
      method: 'POST',
      dispatcher,
      headers: { [requestIdHeader]: 'mbr_doctor', ...headers },
      body: JSON.stringify(format?.toRequest(chat) ?? chat),
      signal: AbortSignal.timeout(timeoutMs),
    })
    const text = await body.text()
    const error = sanitizeText(text.slice(0, maxShownAnswer))
    if (statusCode !== 200)
      return { what, ok: false, detail: `answers HTTP ${statusCode}${error === '' ? ' without a word' : `: ${error}`}` }
    const answer = tryParseJson(text)
    const isCompletion = isRecord(answer) && (format?.createDecoder(0).toCompletion(answer) ?? answer)['choices'] !== undefined
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
    if (!isRecord(list) || !Array.isArray(list['data'])) return null
    return new Set(
      (list['data'] as unknown[]).flatMap((one) => (isRecord(one) && typeof one['id'] === 'string' ? [one['id']] : [])),
    )
  } catch {
    return null
  }
}

const maxShownModels = 5

function formatSample(ids: ReadonlySet<string>): string {
  const shown = [...ids].slice(0, maxShownModels).join(', ')
  return ids.size > maxShownModels ? `${shown} and ${ids.size - maxShownModels} more` : shown || 'none'
}
