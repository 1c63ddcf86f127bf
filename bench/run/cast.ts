/** Who is compared: a table of programs, each with how it is started. */
import { startBareProxy, startGateway } from '../processes.ts'
import type { GatewayKind, Program } from '../processes.ts'
import { addAccounts } from './accounts.ts'
import type { Checkout } from './checkout.ts'
import { startNginx } from './nginx.ts'
import { startPeer } from './peers.ts'
import type { Peer } from './peers.ts'
import { upstreamModels } from './subject.ts'
import type { Shape, Subject } from './subject.ts'

export interface Part {
  /** By which `--only` chooses it. */
  readonly id: string
  readonly name: string
  /** Null where this machine does not have it. */
  start(upstream: { readonly url: string; readonly pid: number }): Promise<Subject | null>
}

export interface Wanted {
  readonly accounts: readonly number[]
  readonly peers: readonly Peer[]
  /** NAME=VALUE: the gateway once more with this in its environment. */
  readonly variants: readonly string[]
  readonly against: Checkout | null
  /** Node's own, for the gateway of this checkout. */
  readonly flags: readonly string[]
}

export const direct = 'direct'
/** What everything is held against. */
export const reference = 'bare http-proxy-3'
export const ours = 'svc-gateway'
const unheld = `${ours} without ledger`

export function nameOf(name: string, accounts: number): string {
  return accounts === 1 ? name : `${name}, ${accounts.toLocaleString('en').replaceAll(',', ' ')} accounts`
}

export function castOf({ accounts, peers, variants, against, flags }: Wanted): readonly Part[] {
  const spread = (id: string, name: string, kind: GatewayKind): Part[] =>
    accounts.map((count) => ({
      id,
      name: nameOf(name, count),
      start: ({ url }) => startOurs(nameOf(name, count), url, count, kind),
    }))
  return [
    { id: 'direct', name: direct, start: async (upstream) => passing(direct, { ...upstream, stop: async () => undefined }) },
    { id: 'nginx', name: 'nginx', start: async ({ url }) => passing('nginx', await startNginx(url)) },
    { id: 'bare', name: reference, start: async ({ url }) => passing(reference, await startBareProxy(url)) },
    ...peers.map((peer) => ({ id: 'peers', name: peer.name, start: ({ url }: { url: string }) => startPeer(peer, url) })),
    { id: 'no-ledger', name: unheld, start: ({ url }) => startOurs(unheld, url, 1, { config: 'without-ledger.config.ts' }) },
    ...spread('gateway', ours, { flags }),
    ...variants.flatMap((variant) => {
      const [name = '', ...value] = variant.split('=')
      return spread('with', `${ours} with ${variant}`, { env: { [name]: value.join('=') } })
    }),
    ...(against === null ? [] : spread('against', `${ours} at ${against.commit}`, { checkout: against.folder })),
  ]
}

/** What hands the same bytes on, and asks nobody who they are. */
function passing(name: string, program: Pick<Program, 'url' | 'pid' | 'stop'> | null): Subject | null {
  if (program === null) return null
  const { url, pid, stop } = program
  return { name, url: `${url}/v1/chat/completions`, models: upstreamModels, headers: {}, keys: [], pid, stop }
}

const productModels: Readonly<Record<Shape, string>> = { whole: 'svc-2.1-fast', joined: 'svc-2.1', streamed: 'svc-2.1' }

/** The shipped configuration with that many accounts. */
export async function startOurs(name: string, upstream: string, accounts: number, kind: GatewayKind): Promise<Subject> {
  const { url, key, pid, database, metrics, stop } = await startGateway(upstream, kind)
  const keys = accounts === 1 ? [key] : addAccounts(database, key, accounts)
  return {
    name,
    url: `${url}/v1/chat/completions`,
    models: productModels,
    headers: {},
    keys,
    pid,
    own: { database, metrics },
    stop,
  }
}
