/** Tokens as an upstream reports them, and as we count them where it does not. */
import t from 'tap'
import {
  believed,
  isBetter,
  OutputCounter,
  reportIn,
  shownUsage,
  tokensOfBytes,
  usageOf,
  withCachedTokens,
} from '../../src/upstream/usage.ts'

t.test('only sane numbers are a report', async (t) => {
  t.same(usageOf({ prompt_tokens: 1, completion_tokens: 2 }), { inputTokens: 1, outputTokens: 2 })
  t.same(usageOf({ input_tokens: 1, output_tokens: 2 }), { inputTokens: 1, outputTokens: 2 })
  t.same(usageOf({ prompt_tokens: 0, completion_tokens: 0 }), { inputTokens: 0, outputTokens: 0 })
  t.same(usageOf({ prompt_tokens: 0.1, completion_tokens: 1.9 }), { inputTokens: 1, outputTokens: 2 }, 'fractions are rounded up')
  t.same(
    usageOf({ prompt_tokens: 1, completion_tokens: 2, completion_tokens_details: { reasoning_tokens: 2 } }),
    { inputTokens: 1, outputTokens: 2 },
    'reasoning is in there already',
  )
  for (const bad of [
    null,
    undefined,
    5,
    'x',
    [],
    {},
    { prompt_tokens: 1 },
    { completion_tokens: 1 },
    { prompt_tokens: -1, completion_tokens: 1 },
    { prompt_tokens: Number.NaN, completion_tokens: 1 },
    { prompt_tokens: 1, completion_tokens: Number.POSITIVE_INFINITY },
    { prompt_tokens: 1, completion_tokens: 10_000_001 },
    { prompt_tokens: '1', completion_tokens: 1 },
    { prompt_tokens: true, completion_tokens: 1 },
  ]) {
    t.equal(usageOf(bad), null, JSON.stringify(bad))
  }
})

t.test('cache hits are told under the name that clients look for', async (t) => {
  t.match(withCachedTokens({ prompt_tokens: 9, prompt_cache_hit_tokens: 4 }), { prompt_tokens_details: { cached_tokens: 4 } })
  const own = { prompt_cache_hit_tokens: 4, prompt_tokens_details: { cached_tokens: 3 } }
  t.equal(withCachedTokens(own), own, 'its own word stands')
  t.same(withCachedTokens({ prompt_tokens: 9 }), { prompt_tokens: 9 })
})

t.test('output is counted as it passes: events where they are small, bytes where they are large', async (t) => {
  const count = (...said: Record<string, unknown>[]) => {
    const counter = new OutputCounter()
    for (const delta of said) counter.add(delta)
    return counter.tokens
  }
  t.equal(count({ content: ' a' }, { content: ' word' }, { content: '!' }), 3)
  t.equal(count({ content: '' }, { role: 'assistant' }, { content: null }), 0, 'nothing said, nothing counted')
  t.equal(count({ content: 'x'.repeat(400) }), 100)
  t.equal(count({ content: '额'.repeat(100) }), 75, 'in bytes')
  t.equal(count({ reasoning_content: ' hm' }), 1)
  const thought = 'x'.repeat(40)
  t.equal(
    count({ reasoning: thought, reasoning_content: thought, reasoning_details: [{ type: 't', text: thought }] }),
    10,
    'once',
  )
  t.equal(count({ tool_calls: [{ index: 0, id: 'x'.repeat(80), function: { arguments: '{"a"' } }] }), 1, 'ids are not made')
  t.equal(count({ function_call: { name: 'f', arguments: 'x'.repeat(39) } }), 10)
  t.equal(
    count({
      content: [
        { type: 'text', text: 'x'.repeat(40) },
        { type: 'image_url', image_url: { url: 'y'.repeat(400) } },
      ],
    }),
    10,
  )
  t.equal(count({ refusal: 'x'.repeat(40) }), 10)
  t.equal(tokensOfBytes(5), 2)
})

t.test('a report is found wherever vendors put it', async (t) => {
  const usage = { prompt_tokens: 12, completion_tokens: 3 }
  for (const answer of [
    { usage },
    { choices: [{ usage }] },
    { x_groq: { id: 'r', usage } },
    { usage: {}, choices: [{ usage }] },
    { usage: { prompt_tokens: 0, completion_tokens: 0 }, choices: [{ usage }] },
  ])
    t.same(reportIn(answer), usage, JSON.stringify(answer))
  for (const answer of [
    {},
    { usage: null },
    { usage: [usage] },
    { choices: [{ usage: true }] },
    { x_groq: 'many' },
    { x_groq: null },
  ])
    t.equal(reportIn(answer), null, JSON.stringify(answer))
})

t.test('a later report takes the place of an earlier one, unless it knows less', async (t) => {
  const good = { inputTokens: 12, outputTokens: 3 }
  t.equal(isBetter(good, null), true)
  t.equal(isBetter({ inputTokens: 12, outputTokens: 9 }, good), true)
  t.equal(isBetter({ inputTokens: 12, outputTokens: 0 }, good), false)
  t.equal(isBetter({ inputTokens: 0, outputTokens: 9 }, good), false)
  t.equal(isBetter(good, { inputTokens: 0, outputTokens: 3 }), true)
})

t.test('a report that contradicts what passed is replaced by our own count, side by side, and kept', async (t) => {
  const measure = { inputEstimate: 100, outputCap: 1_000 }
  /** 500 words in as many events: 2 500 bytes, 625 tokens by their length. */
  const passed = { tokens: 500, bytes: 2_500 }
  const ours = { inputTokens: 100, outputTokens: 500 }
  for (const [name, report, expected] of [
    ['as counted', [90, 500], null],
    ['a quarter of it', [90, 160], null],
    ['hidden reasoning, within the cap', [90, 1_000], null],
    ['above the cap, as what passed says', [90, 1_900], null],
    ['above all', [90, 2_517], { inputTokens: 90, outputTokens: 500 }],
    ['nothing', [90, 0], { inputTokens: 90, outputTokens: 500 }],
    ['next to nothing', [90, 152], { inputTokens: 90, outputTokens: 500 }],
    ['no prompt', [0, 500], { inputTokens: 100, outputTokens: 500 }],
    ['next to no prompt', [1, 500], { inputTokens: 100, outputTokens: 500 }],
    ['a short prompt', [2, 500], null],
    ['a prompt with what the upstream adds', [4_496, 500], null],
    ['a prompt nobody sent', [4_497, 500], { inputTokens: 100, outputTokens: 500 }],
    ['neither', [0, 9_999], ours],
  ] as const) {
    const [inputTokens, outputTokens] = report
    const usage = believed({ inputTokens, outputTokens }, passed, measure)
    t.same(
      usage,
      expected === null
        ? { inputTokens, outputTokens, estimated: false }
        : { ...expected, estimated: true, contradicted: { inputTokens, outputTokens } },
      name,
    )
  }
  t.same(believed(null, passed, measure), { ...ours, estimated: true }, 'nothing reported contradicts nothing')
  const none = { tokens: 0, bytes: 0 }
  t.same(believed({ inputTokens: 9, outputTokens: 0 }, none, measure).estimated, false, 'nothing said, nothing reported')
  const few = { tokens: 3, bytes: 12 }
  t.same(believed({ inputTokens: 9, outputTokens: 0 }, few, measure).outputTokens, 3, 'a short answer is not free')
  t.same(
    believed({ inputTokens: 9, outputTokens: 1 }, { tokens: 20, bytes: 60 }, measure).estimated,
    false,
    'few tokens are no proof',
  )
})

t.test('members see what is charged, and of the rest only counts', async (t) => {
  const report = {
    prompt_tokens: 1,
    completion_tokens: 2,
    total_tokens: 9,
    cost: 0.1,
    cost_details: { upstream_inference_cost: 0.1 },
    is_byok: false,
    queue_time: 0.02,
    model: 'vendor/big',
    num_search_queries: 2,
    citation_tokens: 7,
    completion_tokens_details: { reasoning_tokens: 1, cost: 4 },
  }
  t.same(shownUsage(report, { inputTokens: 12, outputTokens: 3, estimated: true }), {
    prompt_tokens: 12,
    completion_tokens: 3,
    total_tokens: 15,
    num_search_queries: 2,
    citation_tokens: 7,
    completion_tokens_details: { reasoning_tokens: 1 },
  })
  t.match(shownUsage({ cached_tokens: 4 }, { inputTokens: 12, outputTokens: 3, estimated: false }), {
    prompt_tokens_details: { cached_tokens: 4 },
  })
})
