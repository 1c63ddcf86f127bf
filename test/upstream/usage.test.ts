/** Tokens as an upstream reports them, and as we count them where it does not. */
import t from 'tap'
import { OutputCounter, tokensOfBytes, usageOf, withCachedTokens } from '../../src/upstream/usage.ts'

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
  const count = (...contents: object[]) => {
    const counter = new OutputCounter()
    for (const content of contents) counter.add(JSON.stringify({ choices: [{ delta: content }] }))
    return counter.tokens
  }
  t.equal(count({ content: ' a' }, { content: ' word' }, { content: '!' }), 3)
  t.equal(count({ content: '' }, { role: 'assistant' }), 0, 'nothing said, nothing counted')
  t.equal(count({ content: 'x'.repeat(400) }), 100)
  t.equal(count({ reasoning_content: ' hm' }), 1)
  t.equal(count({ tool_calls: [{ function: { arguments: '{"a"' } }] }), 1)
  t.equal(count({ content: 'a"b' }, { content: '\\"' }), 2, 'quotes and backslashes end nothing')
  t.equal(tokensOfBytes(5), 2)
})

t.test('output is counted however its JSON is spaced', async (t) => {
  for (const json of [
    '{"choices": [{"index": 0, "delta": {"content": " word"}, "finish_reason": null}]}',
    '{"choices" : [{"delta" : {"content" :  " word"}}]}',
    '{"choices": [{"delta": {"content": null, "reasoning_content": " word"}}]}',
    '{"choices": [{"delta": {"tool_calls": [{"function": {"arguments": " word"}}]}}]}',
  ]) {
    const counter = new OutputCounter()
    for (let i = 0; i < 3; i++) counter.add(json)
    t.equal(counter.tokens, 3, json)
  }
  const nothing = new OutputCounter()
  nothing.add('{"choices": [{"delta": {"role": "assistant", "content": "", "refusal": null}}]}')
  nothing.add('{"choices": [{"delta": {"content": [{"type": "text"}]}}], "id": "x"}')
  t.equal(nothing.tokens, 0, 'nothing said, nothing counted')
})
