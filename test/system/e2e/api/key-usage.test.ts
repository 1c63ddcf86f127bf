/** `GET /v1/usage`: what an account has left, by key. */
import t from 'tap'
import type { ResponseOf } from '../../../../src/api/endpoint.ts'
import type { showKeyUsage } from '../../../../src/api/usage.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'

t.test('reports pools, boosts and limits to each credential of the API, and changes nothing', async (t) => {
  const gateway = await startGateway(t)
  gateway.demo.script(() => ({ tokens: 8, usage: { prompt_tokens: 1_000, completion_tokens: 8 } }))
  const { token } = await gateway.createMember()
  const read = async (headers: Record<string, string>, method = 'GET') => {
    const answer = await fetch(`${gateway.url}/v1/usage`, { method, headers })
    return { status: answer.status, body: (await answer.json()) as ResponseOf<typeof showKeyUsage> }
  }
  const before = await read({ authorization: `Bearer ${token}` })
  t.equal(before.status, 200)
  t.match(before.body, { object: 'usage', plan: 'max', limits: { concurrent_turns: Number }, boosts: [] })
  t.equal(before.body.pools.length, 6, 'two pools with three windows')
  t.ok(before.body.pools.every((pool) => Date.parse(pool.resets_at) > 0 && pool.remaining === pool.limit))
  await gateway.chat(token)
  const after = await read({ 'x-api-key': token })
  const [turn] = await gateway.listTurns()
  const used = after.body.pools.filter((pool) => pool.tier === turn?.pool)
  t.same(
    used.map((pool) => pool.used),
    used.map(() => turn?.credits),
    'the same credits in day, week and month',
  )
  t.equal((await gateway.listTurns()).length, 1)
  t.match(await read({}), { status: 401, body: { error: { code: 'sign_in_required' } } })
  t.match(await read({ authorization: 'Bearer svc_wrong' }), { status: 401 })
  t.equal((await read({ authorization: `Bearer ${token}` }, 'POST')).status, 405)
})
