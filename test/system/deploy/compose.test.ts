/** The compose files agree with what they start. There is no container engine where the tests run, so they are read. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { loadConfig } from '../../../src/config/config.ts'

const folder = join(import.meta.dirname, '../../../deploy')
const read = (name: string): string => readFileSync(join(folder, name), 'utf8')

interface Compose {
  readonly services: Readonly<
    Record<string, { volumes?: string[]; environment?: Record<string, string>; stop_grace_period?: string; depends_on?: object }>
  >
  readonly networks: { readonly inside: { readonly ipam: { readonly config: readonly [{ readonly subnet: string }] } } }
  readonly volumes: object
}

for (const [file, nodes] of [
  ['compose.yaml', ['gateway']],
  ['compose.several-nodes.yaml', ['node-1', 'node-2', 'node-3']],
] as const) {
  t.test(`${file} names files, volumes and services that exist, and trusts its own network only`, async (t) => {
    const { services, networks, volumes } = parse(read(file), { merge: true }) as Compose
    for (const [name, service] of Object.entries(services)) {
      for (const volume of service.volumes ?? []) {
        const [source = ''] = volume.split(':')
        t.ok(source.startsWith('./') ? existsSync(join(folder, source)) : source in volumes, `${name}: ${volume}`)
      }
      const needed = Array.isArray(service.depends_on) ? (service.depends_on as string[]) : Object.keys(service.depends_on ?? {})
      t.same(
        needed.filter((each) => !(each in services)),
        [],
        name,
      )
    }
    const { timeouts } = await loadConfig(join(folder, '../gateway.config.ts'))
    for (const node of nodes) {
      t.equal(services[node]?.environment?.['TRUSTED_PROXIES'], networks.inside.ipam.config[0].subnet, node)
      t.ok(Number.parseInt(services[node]?.stop_grace_period ?? '', 10) * 1_000 > timeouts.drainMs + timeouts.drainNoticeMs, node)
    }
    // A variable that stops a start without it has a line in the example.
    for (const [, name] of read(file).matchAll(/\$\{(\w+):\?/g)) t.match(read('env.example'), new RegExp(`^${name}=`, 'm'))
  })
}

t.test('the Caddyfile of compose.yaml has the settings of the one that the proxies’ tests start', (t) => {
  const getSite = (text: string): string => text.slice(text.search(/^\S+ \{$/m))
  const shipped = getSite(read('caddy/one-node.Caddyfile'))
  const own = getSite(read('caddy/compose.Caddyfile'))
  t.equal(own, shipped.replace('models.example.com', '{$DOMAIN}').replace('127.0.0.1:8787', 'gateway:8787'))
  t.end()
})

t.test('Traefik’s labels have the settings of the file that the proxies’ tests start', (t) => {
  const { services } = parse(read('traefik/compose.labels.yaml')) as {
    services: Record<string, { labels?: Record<string, string> }>
  }
  const fromLabels = new Map(
    Object.entries(services['gateway']?.labels ?? {}).map(([name, value]) => [
      name,
      value.replace('${DOMAIN}', 'models.example.com'),
    ]),
  )
  const { http } = parse(read('traefik/several-nodes.yaml')) as { http: Record<string, object> }
  const fromFile = new Map<string, string>()
  const collect = (path: string, value: unknown): void => {
    if (Array.isArray(value)) fromFile.set(path, value.join(','))
    else if (typeof value === 'object' && value !== null)
      for (const [key, part] of Object.entries(value)) collect(`${path}.${key.toLowerCase()}`, part)
    else fromFile.set(path, String(value))
  }
  const { serversTransports, ...described } = http
  collect('traefik.http', described)
  // Docker names the servers, and Traefik's command line has what the file has for the transport.
  const balancer = 'traefik.http.services.svc-gateway.loadbalancer'
  for (const name of [`${balancer}.servers`, `${balancer}.serverstransport`]) fromFile.delete(name)
  for (const name of [`${balancer}.server.port`, 'traefik.enable']) fromLabels.delete(name)
  t.same(Object.fromEntries(fromLabels), Object.fromEntries(fromFile))
  for (const setting of ['dialtimeout=2s', 'idleconntimeout=60s'])
    t.match(read('traefik/compose.labels.yaml'), `serverstransport.forwardingtimeouts.${setting}`)
  t.match(JSON.stringify(serversTransports), '"dialTimeout":"2s","idleConnTimeout":"60s"')
  t.end()
})

t.test('the settings of a small machine are accepted, and what they mount exists', async (t) => {
  const { workers, limits } = await loadConfig(join(folder, 'small-machine.config.mjs'))
  t.equal(workers, 1)
  t.ok(limits.agentBodyBytes <= limits.accountBodiesBytes && limits.accountBodiesBytes < limits.allBodiesBytes)
  const { services } = parse(read('compose.small-machine.yaml')) as Compose
  const [source = ''] = services['gateway']?.volumes?.[0]?.split(':') ?? []
  t.ok(existsSync(join(folder, source)), source)
})
