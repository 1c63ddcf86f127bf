/** A target that an operator takes out at one of two nodes on a real PostgreSQL: both leave it out, and so does a node that starts later. */
import t from 'tap'
import type { Test } from 'tap'
import type { Gateway } from '../../../../src/server/serving-thread.ts'
import { openGateway } from '../../../../src/server/serving-thread.ts'
import { bringBackTarget, listRoutedProducts, takeOutTarget } from '../../../../src/services/routing/target-routing.ts'
import { testConfig, waitUntil } from '../../../support/gateway/test-gateway.ts'
import { providePostgres } from '../../../support/servers/postgres/postgres.ts'
import { createTestSchema } from '../../store/postgres/test-store.ts'

const author = { actor: { kind: 'command', systemUser: 'root' }, client: null, reason: 'it answers slowly' } as const
const target = 'main/a'

const postgres = await providePostgres(t, createTestSchema)
if (postgres !== undefined)
  t.test('a target that is taken out at one node is out on all nodes, also after a restart', async (t) => {
    const url = await postgres.createDatabase(t, { empty: true })
    const first = await openNode(t, url)
    const second = await openNode(t, url)
    const before = countOffered(first)
    t.ok(before > 0)
    t.equal(countOffered(second), before)

    await takeOutTarget({ target, minutes: 30, allowsLast: false }, author, first.services)
    t.equal(countOffered(first), 0, 'at once where it was taken out')
    await waitUntil(() => countOffered(second) === 0, 'the other node to leave it out')
    await first.close({ drainMs: 0 })
    const restarted = await openNode(t, url)
    t.equal(countOffered(restarted), 0, 'from its first turn')
    const [out] = await restarted.services.store.takenOutTargets.list(Date.now())
    t.match(out, { target, reason: 'it answers slowly' })

    await bringBackTarget(target, author, second.services)
    t.equal(countOffered(second), before)
    await waitUntil(() => countOffered(restarted) === before, 'the restarted node to offer it again')
  })

/** In how many products the router may choose it. */
function countOffered({ services }: Gateway): number {
  const { products, upstreams, clock } = services
  return listRoutedProducts({ products, upstreams }).filter(({ product }) =>
    upstreams.selectCandidates(product.targets, product.id, clock.monotonicMs()).some(({ name }) => name === target),
  ).length
}

async function openNode(t: Test, url: string): Promise<Gateway> {
  const targets = ['a', 'b'].map((model) => ({ upstream: 'main', model }))
  const gateway = await openGateway({
    config: testConfig(t, { store: { url }, mail: { smtpUrl: 'smtp://127.0.0.1:1' }, products: { svc: { targets } } }),
    logDestination: { write: () => undefined },
  })
  t.teardown(() => gateway.close({ drainMs: 0 }))
  return gateway
}
