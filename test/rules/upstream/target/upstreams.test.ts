/** What upstreams take over from those before a reload of the configuration. */
import t from 'tap'
import type { Test } from 'tap'
import base from '../../../../gateway.config.ts'
import { checkConfig } from '../../../../src/config/config.ts'
import { Upstreams } from '../../../../src/upstream/target/upstreams.ts'

const first = { baseUrl: 'https://first.example.com/v1', apiKey: 'sk-first-key' }
const second = { baseUrl: 'https://second.example.com/v1', apiKey: 'sk-second-key' }
const light = {
  ...base.products['auto']!,
  rules: [],
  targets: [
    { upstream: 'first', model: 'a' },
    { upstream: 'second', model: null },
  ],
}

const configure = (upstreams: object, products: object = { light }) =>
  checkConfig({ ...base, upstreams, products, apiFormats: {} })

function createUpstreams(t: Test, config: ReturnType<typeof configure>, previous?: Upstreams): Upstreams {
  const upstreams = new Upstreams(config, null, () => 0, previous)
  t.teardown(() => upstreams.close())
  return upstreams
}

t.test('an unchanged upstream keeps its connections, and its targets what was learned', async (t) => {
  const before = createUpstreams(t, configure({ first, second }))
  before.setDefaultModel('second', 'b')
  before.unreadModelLists.add('second')
  const [a, b] = [before.getHealth('first/a'), before.getHealth('second/b')]
  before.promptRatios.record('first/a', { inputEstimate: 4_000, mediaEstimate: 0 }, 8_000)
  const after = createUpstreams(t, configure({ first, second }), before)
  t.equal(after.get('first'), before.get('first'))
  t.equal(after.getHealth('first/a'), a)
  t.equal(after.getHealth('second/b'), b)
  t.equal(after.retryBudget, before.retryBudget)
  const prompt = { inputEstimate: 1_000, mediaEstimate: 0 }
  t.equal(after.promptRatios.estimate('first/a', prompt), before.promptRatios.estimate('first/a', prompt))
  t.equal(after.selectCandidates([{ upstream: 'second', model: null, weight: 1 }], 'c', 0)[0]?.model, 'b')
})

t.test('a changed upstream begins anew, and its calls count for the same server', async (t) => {
  const before = createUpstreams(t, configure({ first, second }))
  const health = before.getHealth('first/a')
  before.get('first')?.limiter.tryAcquire()
  const rotated = createUpstreams(t, configure({ first: { ...first, apiKey: 'sk-other-key', connections: 1 }, second }), before)
  t.match(rotated.get('first')?.headers, { authorization: 'Bearer sk-other-key' })
  t.match(before.get('first')?.headers, { authorization: 'Bearer sk-first-key' }, 'running turns keep theirs')
  t.not(rotated.getHealth('first/a'), health, 'a target that rested because of its key does not rest')
  t.equal(rotated.get('first')?.limiter.tryAcquire(), false)
  const moved = createUpstreams(t, configure({ first: { ...first, baseUrl: second.baseUrl, connections: 1 }, second }), before)
  t.equal(moved.get('first')?.limiter.tryAcquire(), true)
})

t.test('targets that are no longer configured are forgotten', async (t) => {
  const before = createUpstreams(t, configure({ first, second }))
  before.getHealth('first/a')
  before.getHealth('first/old')
  before.getHealth('second/light')
  const after = createUpstreams(t, configure({ first, second }), before)
  t.same([...after.breakerStates(0)].map(({ target }) => target).toSorted(), ['first/a', 'second/light'])
})

t.test('closing leaves connections that others have taken over', async (t) => {
  const before = createUpstreams(t, configure({ first, second }))
  const after = createUpstreams(t, configure({ first, second: { ...second, maxPending: 1 } }), before)
  await before.close([after])
  t.match(before.get('first')?.dispatcher, { destroyed: false })
  t.match(before.get('second')?.dispatcher, { destroyed: true })
  t.match(after.get('second')?.dispatcher, { destroyed: false })
})
