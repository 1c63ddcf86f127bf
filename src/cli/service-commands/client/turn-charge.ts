/** What a turn cost and left: from the answer that it belongs to, or as the service reports it afterwards. */
import type { z } from 'zod'
import type { ResponseOf } from '../../../api/endpoint.ts'
import type { showKeyUsage, showTurn, turnCharge } from '../../../api/usage.ts'
import type { Context } from '../../context.ts'
import { isRecord } from '../../json.ts'
import { callEndpoint, requestJson } from './service-client.ts'
import type { DeepPartial } from './service-client.ts'
import type { Credential, Site } from './site.ts'

export type TurnCharge = DeepPartial<z.output<typeof turnCharge>>
export type TurnList = DeepPartial<ResponseOf<typeof showTurn>>

/** The charge in the headers of a whole answer; null where an older service sends none. */
export function readChargeHeaders({ brand }: Pick<Site, 'brand'>, headers: Headers): TurnCharge | null {
  const readHeader = (name: string): string | null => headers.get(`x-${brand}-quota-${name}`)
  const chargedCredits = readHeader('charged')
  if (chargedCredits === null) return null
  const remainingCredits = readHeader('remaining')
  const windowLeft =
    remainingCredits === null
      ? null
      : { window: (readHeader('window') as 'day' | null) ?? undefined, credits: Number(remainingCredits) }
  return { credits: Number(chargedCredits), tier: (readHeader('tier') as 'fast' | null) ?? undefined, left: windowLeft }
}

/** The charge in a stream's last event. */
export function readChargeField(event: Readonly<Record<string, unknown>>): TurnCharge | null {
  const { charge } = event
  return isRecord(charge) ? (charge as TurnCharge) : null
}

interface ServiceOptions {
  readonly site: Site
  readonly credential: Credential
  readonly signal?: AbortSignal | undefined
}

const timeoutMs = 3000

/** All turns of a request. @throws CommandFailure `not_found` */
export async function fetchTurns(
  context: Context,
  requestId: string,
  { site, credential, signal }: ServiceOptions,
): Promise<TurnList> {
  const path = `/v1/turns/${encodeURIComponent(requestId)}?limit=100`
  const { body } = await requestJson(context, site, {
    method: 'GET',
    path,
    credential,
    ...(signal === undefined ? {} : { signal, timeoutMs }),
  })
  return isRecord(body) ? (body as TurnList) : {}
}

/** The charge of a request that has ended; null while it runs. */
export async function fetchCharge(context: Context, requestId: string, options: ServiceOptions): Promise<TurnCharge | null> {
  const { credits, data = [] } = await fetchTurns(context, requestId, options)
  if (data.length === 0 || data.some(({ state }) => state === 'held')) return null
  const { site, credential, signal } = options
  const { answer } = await callEndpoint<typeof showKeyUsage>(context, site, {
    method: 'GET',
    path: '/v1/usage',
    credential,
    timeoutMs,
    ...(signal === undefined ? {} : { signal }),
  })
  // The oldest is the turn that the member sent; the others ran within it.
  const tier = data.at(-1)?.tier
  const [least] = (answer.pools ?? [])
    .filter((pool) => pool.tier === tier)
    .toSorted((one, other) => (one.remaining ?? 0) - (other.remaining ?? 0))
  return { credits, tier, left: least === undefined ? null : { window: least.window, credits: least.remaining } }
}
