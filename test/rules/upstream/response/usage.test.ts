/** Tokens as an upstream reports them, and as we count them. */
import t from 'tap'
import {
  reconcileUsage,
  isBetter,
  OutputCounter,
  findUsageReport,
  toPublicUsage,
  bytesToTokens,
  parseUsage,
  normalizeCachedTokens,
} from '../../../../src/upstream/response/usage.ts'

t.test('accepts sane numbers only', async (t) => {
  t.same(parseUsage({ prompt_tokens: 1, completion_tokens: 2 }), { inputTokens: 1, outputTokens: 2 })
  t.same(parseUsage({ input_tokens: 1, output_tokens: 2 }), { inputTokens: 1, outputTokens: 2 })
  t.same(parseUsage({ prompt_tokens: 0, completion_tokens: 0 }), { inputTokens: 0, outputTokens: 0 })
  t.same(
    parseUsage({ prompt_tokens: 0.1, completion_tokens: 1.9 }),
    { inputTokens: 1, outputTokens: 2 },
    'fractions are rounded up',
  )
  t.same(
    parseUsage({ prompt_tokens: 1, completion_tokens: 2, completion_tokens_details: { reasoning_tokens: 2 } }),
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
    t.equal(parseUsage(bad), null, JSON.stringify(bad))
  }
})

t.test('reads the tokens from a cache under each name, as a part of the prompt', async (t) => {
  const report = { prompt_tokens: 100, completion_tokens: 2 }
  for (const [fields, cached] of [
    [{ prompt_tokens_details: { cached_tokens: 70 } }, 70],
    [{ input_tokens_details: { cached_tokens: 70 } }, 70],
    [{ prompt_cache_hit_tokens: 70 }, 70],
    [{ cached_tokens: 70 }, 70],
    [{ prompt_tokens_details: { cached_tokens: 100 } }, 100],
    [{ prompt_tokens_details: { cached_tokens: 101 } }, 100],
    [{ prompt_tokens_details: { cached_tokens: 9_000_000 } }, 100],
    [{}, undefined],
    ...[0, -1, Number.NaN, Number.POSITIVE_INFINITY, 10_000_001, '70', null, true, {}].map(
      (bad) => [{ prompt_tokens_details: { cached_tokens: bad } }, undefined] as const,
    ),
    [{ prompt_tokens_details: 'none' }, undefined],
    [{ prompt_tokens_details: null, cached_tokens: -3 }, undefined],
  ] as const)
    t.equal(parseUsage({ ...report, ...fields })?.cachedInputTokens, cached, JSON.stringify(fields))
})

t.test('tokens from a cache stay with a reported prompt, and never with an estimated one', async (t) => {
  const bounds = { inputEstimate: 100, outputCap: 50 }
  const counted = { tokens: 10, bytes: 40, provenTokens: 10 }
  const cachedOf = (report: { inputTokens: number; cachedInputTokens: number; outputTokens: number }) => {
    const { inputTokens, cachedInputTokens } = reconcileUsage(report, counted, bounds)
    return [inputTokens, cachedInputTokens]
  }
  t.same(cachedOf({ inputTokens: 120, cachedInputTokens: 90, outputTokens: 10 }), [120, 90], 'accepted')
  t.same(cachedOf({ inputTokens: 120, cachedInputTokens: 90, outputTokens: 0 }), [120, 90], 'only the output is disputed')
  t.same(cachedOf({ inputTokens: 1, cachedInputTokens: 1, outputTokens: 10 }), [100, undefined], 'too short a prompt')
  t.same(cachedOf({ inputTokens: 9_000, cachedInputTokens: 9_000, outputTokens: 10 }), [100, undefined], 'too long a prompt')
})

t.test('reports cache hits under the name that clients expect', async (t) => {
  t.match(normalizeCachedTokens({ prompt_tokens: 9, prompt_cache_hit_tokens: 4 }), {
    prompt_tokens_details: { cached_tokens: 4 },
  })
  const own = { prompt_cache_hit_tokens: 4, prompt_tokens_details: { cached_tokens: 3 } }
  t.equal(normalizeCachedTokens(own), own, 'its own word stands')
  t.same(normalizeCachedTokens({ prompt_tokens: 9 }), { prompt_tokens: 9 })
})

t.test('counts output as it passes: events if they are small, bytes if they are large', async (t) => {
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
  const sent = { path: 'x'.repeat(100), lines: [1, 2] }
  const args = { arguments: JSON.stringify(sent) }
  t.equal(count({ tool_calls: [{ function: { arguments: sent } }] }), count({ tool_calls: [{ function: args }] }), 'as an object')
  t.equal(count({ tool_calls: [{ arguments: sent }] }), count({ tool_calls: [args] }), 'beside the id')
  t.equal(count({ function_call: { arguments: sent } }), count({ function_call: args }), 'in the older form')
  for (const part of [
    { type: 'reasoning', reasoning: thought },
    { type: 'refusal', refusal: thought },
  ])
    t.equal(count({ content: [part] }), 10, `a part of ${part.type}`)
  t.equal(count({ refusal: 'x'.repeat(40) }), 10)
  t.equal(bytesToTokens(5), 2)
})

t.test('counts a picture that the model draws once, however many pieces bring it', async (t) => {
  const url = 'data:image/png;base64,iVBORw0KGgo='
  const image = (part: string, index = 0) => ({ images: [{ index, type: 'image_url', image_url: { url: part } }] })
  const count = (...deltas: Record<string, unknown>[]) => {
    const counter = new OutputCounter()
    for (const delta of deltas) counter.add(delta)
    return counter
  }
  const one = count(image(url)).tokens
  t.ok(one > 1_000, `${one} tokens`)
  t.equal(count(image(url.slice(0, 20)), image(url.slice(20, 30)), image(url.slice(30))).tokens, one, 'in pieces')
  t.equal(count(image(url, 0), image(url, 1)).tokens, 2 * one)
  t.equal(count({ content: [{ type: 'image_url', image_url: url }] }).tokens, one, 'in a part of the content')
  t.equal(count({ content: [{ inline_data: { mime_type: 'image/png', data: 'iVBORw0KGgo=' } }] }).tokens, one)
  t.equal(count({ ...image(url), content: 'Here:' }).tokens, one + 1, 'beside a text')
  const events = new OutputCounter()
  events.addEvent({ kind: 'image', url })
  t.equal(events.tokens, one)
  events.addWhole([{ kind: 'image', url }])
  t.equal(events.tokens, 2 * one)
  t.equal(count(image(url)).isEmpty, false)
  t.equal(count({ content: '' }).isEmpty, true)
  const bounds = { inputEstimate: 10, outputCap: 4_096 }
  t.equal(reconcileUsage(null, count(image(url)), bounds).outputTokens, one, 'without a report')
  t.equal(
    reconcileUsage({ inputTokens: 10, outputTokens: 0 }, count(image(url)), bounds).outputTokens,
    one,
    'with a report of none',
  )
  t.equal(reconcileUsage({ inputTokens: 10, outputTokens: 7 }, count(image(url)), bounds).outputTokens, 7, 'a report stands')
  t.equal(reconcileUsage(null, count(image(url)), { ...bounds, outputCap: 100 }).outputTokens, 100, 'never above the cap')
})

t.test('adds reasoning beside the completion, wherever a vendor reports it', async (t) => {
  const details = { reasoning_tokens: 50 }
  const report = (fields: object) =>
    parseUsage({ prompt_tokens: 10, completion_tokens: 2, total_tokens: 62, ...fields })?.outputTokens
  t.equal(report({ completion_tokens_details: details }), 52)
  t.equal(report({ output_tokens_details: details }), 52)
  t.equal(report(details), 52, 'beside the completion')
  t.equal(report({ completion_tokens_details: null, ...details }), 52)
  t.equal(report({ total_tokens: 12, ...details }), 2, 'the total has no room for it')
  t.equal(report({ total_tokens: 20, ...details }), 10, 'room for a part of it')
  t.equal(report({}), 2, 'nothing explains the total')
})

t.test('finds a report wherever vendors put it', async (t) => {
  const usage = { prompt_tokens: 12, completion_tokens: 3 }
  for (const answer of [
    { usage },
    { choices: [{ usage }] },
    { x_groq: { id: 'r', usage } },
    { usage: {}, choices: [{ usage }] },
    { usage: { prompt_tokens: 0, completion_tokens: 0 }, choices: [{ usage }] },
  ])
    t.same(findUsageReport(answer), usage, JSON.stringify(answer))
  for (const answer of [
    {},
    { usage: null },
    { usage: [usage] },
    { choices: [{ usage: true }] },
    { x_groq: 'many' },
    { x_groq: null },
  ])
    t.equal(findUsageReport(answer), null, JSON.stringify(answer))
})

t.test('replaces an earlier report by a later one, unless that has less', async (t) => {
  const good = { inputTokens: 12, outputTokens: 3 }
  t.equal(isBetter(good, null), true)
  t.equal(isBetter({ inputTokens: 12, outputTokens: 9 }, good), true)
  t.equal(isBetter({ inputTokens: 12, outputTokens: 0 }, good), false)
  t.equal(isBetter({ inputTokens: 0, outputTokens: 9 }, good), false)
  t.equal(isBetter(good, { inputTokens: 0, outputTokens: 3 }), true)
})

t.test('replaces a report that disputes the output by our own count, side by side, and keeps it', async (t) => {
  const measure = { inputEstimate: 100, outputCap: 1_000 }
  /** 500 words in as many events: 2 500 bytes, 625 tokens by their length. */
  const passed = { tokens: 500, bytes: 2_500, provenTokens: 500 }
  const ours = { inputTokens: 100, outputTokens: 500 }
  for (const [name, report, expected] of [
    ['as counted', [90, 500], null],
    ['a quarter of it', [90, 160], null],
    ['hidden reasoning, within the cap', [90, 1_000], null],
    ['a little above the cap', [90, 1_516], null],
    ['above the cap, as what passed says', [90, 1_900], 'ignored'],
    ['above all, where the cap is charged', [90, 2_517], { inputTokens: 90, outputTokens: 1_000 }],
    ['nothing', [90, 0], { inputTokens: 90, outputTokens: 500 }],
    ['next to nothing', [90, 152], { inputTokens: 90, outputTokens: 500 }],
    ['no prompt', [0, 500], { inputTokens: 100, outputTokens: 500 }],
    ['next to no prompt', [1, 500], { inputTokens: 100, outputTokens: 500 }],
    ['a short prompt', [2, 500], null],
    ['a prompt with what the upstream adds', [4_496, 500], null],
    ['a prompt nobody sent', [4_497, 500], { inputTokens: 100, outputTokens: 500 }],
    ['neither', [0, 9_999], { inputTokens: 100, outputTokens: 1_000 }],
  ] as const) {
    const [inputTokens, outputTokens] = report
    const usage = reconcileUsage({ inputTokens, outputTokens }, passed, measure)
    t.same(
      usage,
      expected === null
        ? { inputTokens, outputTokens, estimated: false }
        : expected === 'ignored'
          ? { inputTokens, outputTokens, estimated: false, ignoredCap: true }
          : { ...expected, estimated: true, disputed: { inputTokens, outputTokens } },
      name,
    )
  }
  t.same(reconcileUsage(null, passed, measure), { ...ours, estimated: true }, 'nothing reported contradicts nothing')
  const none = { tokens: 0, bytes: 0, provenTokens: 0 }
  t.same(reconcileUsage({ inputTokens: 9, outputTokens: 0 }, none, measure).estimated, false, 'nothing said, nothing reported')
  const few = { tokens: 3, bytes: 12, provenTokens: 3 }
  t.same(reconcileUsage({ inputTokens: 9, outputTokens: 0 }, few, measure).outputTokens, 3, 'a short response is not free')
  t.same(
    reconcileUsage({ inputTokens: 9, outputTokens: 1 }, { tokens: 20, bytes: 60, provenTokens: 15 }, measure).estimated,
    false,
    'few tokens prove nothing',
  )
})

t.test('never counts more output than the cap by itself', async (t) => {
  const passed = { tokens: 500, bytes: 2_500, provenTokens: 500 }
  const bounds = { inputEstimate: 9, outputCap: 100 }
  t.same(reconcileUsage(null, passed, bounds), { inputTokens: 9, outputTokens: 100, estimated: true, ignoredCap: true })
  t.match(reconcileUsage({ inputTokens: 9, outputTokens: 0 }, passed, bounds), {
    outputTokens: 100,
    estimated: true,
    ignoredCap: true,
  })
  t.equal(reconcileUsage(null, { tokens: 160, bytes: 160, provenTokens: 40 }, bounds).ignoredCap, undefined, 'no proof')
})

t.test('accepts a report without the images that a text model drops', async (t) => {
  const counted = { tokens: 3, bytes: 12, provenTokens: 3 }
  const bounds = { inputEstimate: 1_156, mediaEstimate: 1_100, outputCap: 100 }
  t.same(reconcileUsage({ inputTokens: 6, outputTokens: 3 }, counted, bounds), {
    inputTokens: 6,
    outputTokens: 3,
    estimated: false,
  })
  t.match(
    reconcileUsage({ inputTokens: 0, outputTokens: 3 }, counted, bounds),
    { inputTokens: 1_156, estimated: true },
    'no prompt',
  )
})

t.test('counts the name of a call once, and the larger of two forms of a call', async (t) => {
  const count = (...deltas: Record<string, unknown>[]) => {
    const counter = new OutputCounter()
    for (const delta of deltas) counter.add(delta)
    return { bytes: counter.bytes, tokens: counter.tokens }
  }
  const piece = { index: 0, id: 'call_1', type: 'function', function: { name: 'get_the_weather', arguments: '{"' } }
  const repeated = Array.from({ length: 64 }, () => ({
    tool_calls: [piece],
    function_call: { name: 'get_the_weather', arguments: '{"' },
  }))
  t.same(count(...repeated), { bytes: 15 + 128, tokens: 64 })
  t.same(count({ tool_calls: [piece, { ...piece, index: 1, id: 'call_2' }] }).bytes, 34, 'two calls of one function')
  t.same(count({ function_call: { name: 'f', arguments: 'xyz' }, tool_calls: [] }).bytes, 4)
})

t.test('shows members what is charged, and otherwise only counts', async (t) => {
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
  t.same(toPublicUsage(report, { inputTokens: 12, outputTokens: 3, estimated: true }), {
    prompt_tokens: 12,
    completion_tokens: 3,
    total_tokens: 15,
    num_search_queries: 2,
    citation_tokens: 7,
    completion_tokens_details: { reasoning_tokens: 1 },
  })
  t.match(toPublicUsage({ cached_tokens: 9 }, { inputTokens: 12, cachedInputTokens: 4, outputTokens: 3, estimated: false }), {
    prompt_tokens_details: { cached_tokens: 4 },
  })
})

t.test('shows no part above the whole that is charged', async (t) => {
  const usage = { inputTokens: 12, cachedInputTokens: 4, outputTokens: 3, estimated: true }
  for (const [report, shown] of [
    [{ completion_tokens_details: { reasoning_tokens: 8_990 } }, { completion_tokens_details: { reasoning_tokens: 3 } }],
    [
      { completion_tokens_details: { audio_tokens: 70, text_tokens: 2 } },
      { completion_tokens_details: { audio_tokens: 3, text_tokens: 2 } },
    ],
    [
      { prompt_tokens_details: { audio_tokens: 70, cached_tokens: 70 } },
      { prompt_tokens_details: { audio_tokens: 12, cached_tokens: 4 } },
    ],
    [
      { prompt_tokens_details: { text_tokens: 120, image_tokens: 5 } },
      { prompt_tokens_details: { text_tokens: 12, image_tokens: 5 } },
    ],
    [{ output_tokens_details: { reasoning_tokens: 9 } }, { output_tokens_details: { reasoning_tokens: 3 } }],
    [{ prompt_tokens_details: { cached_tokens: -60 } }, { prompt_tokens_details: { cached_tokens: 0 } }],
    [{ reasoning_tokens: -9 }, { reasoning_tokens: 0 }],
    [
      { reasoning_tokens: 9, prompt_cache_miss_tokens: 90 },
      { reasoning_tokens: 3, prompt_cache_miss_tokens: 12 },
    ],
  ] as const)
    t.same(toPublicUsage(report, usage), { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15, ...shown })
})
