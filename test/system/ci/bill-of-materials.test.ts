/** The bill of materials of a release. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { createBillOfMaterials } from '../../../.ci/bill-of-materials.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))

interface Component {
  readonly name: string
  readonly version: string
  readonly hashes?: readonly { readonly alg: string }[]
  readonly licenses?: readonly unknown[]
}

t.test('lists each package that is installed with the tarball, with its licence and checksum', (t) => {
  const bill = JSON.parse(createBillOfMaterials(root)) as {
    readonly bomFormat: string
    readonly metadata: { readonly component: Component }
    readonly components: readonly Component[]
  }
  const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { version: string }
  const { packages } = JSON.parse(readFileSync(`${root}package-lock.json`, 'utf8')) as {
    packages: Record<string, { version: string; dev?: boolean }>
  }
  const installed = Object.entries(packages).flatMap(([path, entry]) =>
    path === '' || entry.dev === true ? [] : [`${path.split('node_modules/').at(-1)} ${entry.version}`],
  )
  t.equal(bill.bomFormat, 'CycloneDX')
  t.match(bill.metadata.component, { name: 'svc-gateway', version })
  t.same(bill.components.map(({ name, version }) => `${name} ${version}`).toSorted(), [...new Set(installed)].toSorted())
  const incomplete = bill.components.filter(({ hashes, licenses }) => !hashes?.length || !licenses?.length)
  t.same(
    incomplete.map(({ name }) => name),
    [],
  )
  t.end()
})
