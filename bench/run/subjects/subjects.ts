/** The table of compared programs, each with the function that starts it. */
import { startBareProxy, startGateway } from '../../support/processes.ts'
import type { GatewayVariant, Program } from '../../support/processes.ts'
import { addAccounts } from './accounts.ts'
import type { Checkout } from './checkout.ts'
import { startNginx } from './nginx.ts'
import { startPeer } from './peers.ts'
import type { Peer } from './peers.ts'
import { upstreamModels } from './subject.ts'
import type { Shape, Subject, TranslatedFormat } from './subject.ts'

export interface SubjectSpec {
  /** The name for `--only`. */
  readonly id: string
  readonly name: string
  /** Null if it is not installed. */
  start(upstream: { readonly url: string; readonly pid: number }): Promise<Subject | null>
}

export interface SubjectSelection {
  readonly accounts: readonly number[]
  readonly peers: readonly Peer[]
  /** NAME=VALUE: measures the gateway once more with this in its environment. */
  readonly variants: readonly string[]
  readonly against: Checkout | null
  /** Node's flags for the gateway of this checkout. */
  readonly flags: readonly string[]
}

export const directName = 'direct'
/** The reference of all ratios. */
export const referenceName = 'bare http-proxy-3'
export const gatewayName = 'svc-gateway'
/** The same in other API formats, compared with chat completions. */
export const translatedFormats = [
  { id: 'responses', name: `${gatewayName} responses` },
  { id: 'messages', name: `${gatewayName} messages` },
] as const
const withoutLedgerName = `${gatewayName} without ledger`

export function toSubjectName(name: string, accounts: number): string {
  return accounts === 1 ? name : `${name}, ${accounts.toLocaleString('en').replaceAll(',', ' ')} accounts`
}

export function createSubjectSpecs({ accounts, peers, variants, against, flags }: SubjectSelection): readonly SubjectSpec[] {
  const forEachAccountCount = (id: string, name: string, kind: GatewayVariant): SubjectSpec[] =>
    accounts.map((count) => ({
      id,
      name: toSubjectName(name, count),
      start: ({ url }) => startGatewaySubject(toSubjectName(name, count), url, count, kind),
    }))
  return [
    {
      id: 'direct',
      name: directName,
      start: async (upstream) => createProxySubject(directName, { ...upstream, stop: async () => undefined }),
    },
    { id: 'nginx', name: 'nginx', start: async ({ url }) => createProxySubject('nginx', await startNginx(url)) },
    { id: 'bare', name: referenceName, start: async ({ url }) => createProxySubject(referenceName, await startBareProxy(url)) },
    ...peers.map((peer) => ({ id: 'peers', name: peer.name, start: ({ url }: { url: string }) => startPeer(peer, url) })),
    {
      id: 'no-ledger',
      name: withoutLedgerName,
      start: ({ url }) => startGatewaySubject(withoutLedgerName, url, 1, { config: 'without-ledger.config.ts' }),
    },
    ...forEachAccountCount('gateway', gatewayName, { flags }),
    ...translatedFormats.map(({ id, name }) => ({
      id,
      name,
      start: ({ url }: { url: string }) => startGatewaySubject(name, url, 1, { flags }, id),
    })),
    ...variants.flatMap((variant) => {
      const [name = '', ...value] = variant.split('=')
      return forEachAccountCount('with', `${gatewayName} with ${variant}`, { env: { [name]: value.join('=') } })
    }),
    ...(against === null
      ? []
      : forEachAccountCount('against', `${gatewayName} at ${against.commit}`, { checkout: against.folder })),
  ]
}

/** Subjects that pass the same bytes on without authentication. */
export function createProxySubject(name: string, program: Pick<Program, 'url' | 'pid' | 'stop'> | null): Subject | null {
  if (program === null) return null
  const { url, pid, stop } = program
  return { name, url: `${url}/v1/chat/completions`, models: upstreamModels, headers: {}, keys: [], pid, stop }
}

const productModels: Readonly<Record<Shape, string>> = { whole: 'svc-2.1-fast', joined: 'svc-2.1', streamed: 'svc-2.1' }

/** The shipped configuration with this number of accounts. */
export async function startGatewaySubject(
  name: string,
  upstream: string,
  accounts: number,
  kind: GatewayVariant,
  apiFormat?: TranslatedFormat,
): Promise<Subject> {
  const { url, key, pid, database, metrics, stop } = await startGateway(upstream, kind)
  const keys = accounts === 1 ? [key] : addAccounts(database, key, accounts)
  return {
    name,
    url: `${url}/v1/${apiFormat ?? 'chat/completions'}`,
    ...(apiFormat === undefined ? {} : { apiFormat }),
    models: productModels,
    headers: {},
    keys,
    pid,
    own: { database, metrics },
    stop,
  }
}
