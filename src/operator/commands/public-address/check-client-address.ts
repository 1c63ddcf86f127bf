/** Doctor check of the client's address: the gateway must count limits by an address that proxies add and clients cannot choose. */
import type { HealthCheck } from '../../../services/health/health-checks.ts'
import type { Report } from './diagnostics-client.ts'
import type { describeSetting } from './proxy-settings.ts'
import { settings } from './proxy-settings.ts'

/** RFC 5737: an address that no client has. */
const madeUpAddress = '192.0.2.1'

/** What a client sends that wants another address. */
export const madeUpHeaders = {
  'x-forwarded-for': madeUpAddress,
  'x-real-ip': madeUpAddress,
  forwarded: `for=${madeUpAddress}`,
} as const

interface ClientAddressInput {
  /** Of a request without forwarding headers. */
  readonly plain: Report
  /** Of a request with `madeUpHeaders`. */
  readonly forged: Report
  readonly localAddress: string | null
  /** The gateway's connection is this command's own. */
  readonly isDirect: boolean
  /** Something between this command and the gateway shows that it is a proxy. */
  readonly isProxied: boolean
  readonly describe: (setting: Parameters<typeof describeSetting>[0]) => string
}

const what = 'client address'

export function checkClientAddress(input: ClientAddressInput): HealthCheck {
  const { plain, describe } = input
  const { peer, clientAddress, forwardedFor } = plain
  const fail = (detail: string): HealthCheck => ({ what, ok: false, detail })
  const line = `missing: ${describe(settings.clientAddress)}`
  if (input.isDirect) return { what, ok: true, detail: `${peer.address}, connected without a proxy` }
  if (!peer.isTrusted) return checkUntrustedPeer(input)
  if (isAddressChosenByClient(input))
    return fail(`a client that sends X-Forwarded-For chooses the address that its limit is counted by; ${line}`)
  if (forwardedFor.length === 0)
    return fail(`the proxy at ${peer.address} sends no X-Forwarded-For, so all members share the limit of one address; ${line}`)
  if (forwardedFor.every(({ isTrusted }) => isTrusted) && clientAddress !== input.localAddress) {
    const reason = `the gateway receives ${clientAddress}, a proxy of TRUSTED_PROXIES, as the client, so all members share the limit of one address`
    return fail(`${reason} (unless this command runs there); missing: ${describe(settings.clientAddressBehindProxy)}`)
  }
  const position = forwardedFor.findLastIndex(({ address }) => address === clientAddress)
  if (position > 0 && !forwardedFor[position]?.isTrusted)
    return fail(
      `the proxy at ${clientAddress} is not trusted, so all members behind it share one limit; set TRUSTED_PROXIES=${toTrustedList(plain)}`,
    )
  return { what, ok: true, detail: `${clientAddress}, added by a trusted proxy; an address that a client makes up is ignored` }
}

function checkUntrustedPeer(input: ClientAddressInput): HealthCheck {
  const { plain, isProxied, describe } = input
  const { peer, forwardedFor } = plain
  if (isProxied) {
    const first =
      forwardedFor.length === 0 || isPassedOn(input) ? `; before that, missing: ${describe(settings.clientAddress)}` : ''
    const detail = `the proxy at ${peer.address} is not trusted, so all members share the limit of one address; set TRUSTED_PROXIES=${toTrustedList(plain)}${first}`
    return { what, ok: false, detail }
  }
  return { what, ok: true, detail: `${peer.address}; if that is a proxy of yours, set TRUSTED_PROXIES=${peer.address}` }
}

/** The proxies that are evident from the request: the peer, and each address after the client's. */
function toTrustedList({ peer, forwardedFor }: Report): string {
  return [...new Set([...forwardedFor.slice(1).map(({ address }) => address), peer.address])].join(',')
}

/** A client on a trusted machine, such as this one before its own proxy, may choose; strangers may not. */
function isAddressChosenByClient({ forged, localAddress }: ClientAddressInput): boolean {
  if (forged.clientAddress !== madeUpAddress) return false
  const position = forged.forwardedFor.findLastIndex(({ address }) => address === madeUpAddress)
  return !forged.forwardedFor.slice(position + 1).some(({ address }) => address === localAddress)
}

/** The last address is the one that the client wrote. */
function isPassedOn({ forged }: ClientAddressInput): boolean {
  return forged.forwardedFor.at(-1)?.address === madeUpAddress
}
