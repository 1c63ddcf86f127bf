/** The compose files agree with what they start. There is no container engine where the tests run, so they are read. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { loadConfig } from '../../src/config/config.ts'

const folder = join(import.meta.dirname, '../../deploy')
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
