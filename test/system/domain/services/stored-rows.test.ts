/** How many rows an account, or all strangers together, can have stored, in the shipped configuration. */
import t from 'tap'
import { OAuthClientService } from '../../../../src/domain/services/oauth-client-service.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'

t.test('an account has 20 keys, and no further one', async (t) => {
  const gateway = await startGateway(t)
  const { id: account } = await gateway.createMember()
  const { membership, config } = gateway.services
  const { apiKeys } = membership
  t.equal(config.limits.keysPerAccount, 20)
  const before = (await apiKeys.list(account)).length
  const made = await Promise.all(Array.from({ length: 30 }, (_, nth) => apiKeys.createUnaudited(account, `key ${nth}`, null)))
  t.equal(made.filter((key) => key !== undefined).length, 20 - before)
  t.equal((await apiKeys.list(account)).length, 20)
})

t.test('strangers register 5 000 OAuth clients', async (t) => {
  const maxima: number[] = []
  const oauthClients = {
    register: async (_: unknown, max: number) => {
      maxima.push(max)
      return true
    },
  }
  const clock = { now: () => 0 }
  const ids = { next: (prefix: string) => `${prefix}1`, bytes: () => new Uint8Array() }
  const attemptLimits = { consumeForNetwork: async () => undefined }
  const service = new OAuthClientService({ store: { oauthClients }, clock, ids, attemptLimits } as never)
  await service.register(() => ({}) as never, { network: '203.0.113.1' } as never)
  t.same(maxima, [5_000])
})
