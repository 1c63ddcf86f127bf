/** How the estimate of a prompt follows what a target reported. */
import t from 'tap'
import { PromptRatios } from '../../../../src/upstream/target/prompt-ratios.ts'

const target = 'main/big'

t.test('estimates a prompt by what the target reported for others', async (t) => {
  const prompt = { inputEstimate: 1_000, mediaEstimate: 0 }
  const learn = (...reports: readonly (readonly [estimate: number, reported: number])[]) => {
    const ratios = new PromptRatios()
    for (const [inputEstimate, reported] of reports) ratios.record(target, { inputEstimate, mediaEstimate: 0 }, reported)
    return ratios
  }
  const estimate = (...reports: readonly (readonly [estimate: number, reported: number])[]) =>
    learn(...reports).estimate(target, prompt)
  const many = (count: number, report: readonly [number, number]) => Array.from({ length: count }, () => report)
  t.equal(estimate(), 1_000, 'nothing was reported yet')
  t.ok(estimate([10, 20]) < 1_050, 'a short prompt proves little')
  t.ok(Math.abs(estimate(...many(50, [1_000, 1_300])) - 1_300) < 10)
  t.ok(Math.abs(estimate(...many(50, [1_000, 700])) - 700) < 10)
  t.equal(estimate(...many(50, [1_000, 4_000])), 2_000, 'at most twice')
  t.equal(estimate(...many(50, [1_000, 250])), 500, 'at least half')
  t.equal(estimate([1_000, 4_001], [1_000, 249], [1_000, 0], [0, 5]), 1_000, 'a hidden prompt, a cut prompt, no prompt')
  t.ok(estimate(...many(50, [1_000, 1_000]), [10_000_000, 20_000_000]) < 1_100, 'one large prompt does not decide')
  t.ok(estimate(...many(500, [1_000, 700]), ...many(200, [1_000, 1_300])) > 1_200, 'recent prompts count most')
  const learned = learn(...many(50, [1_000, 1_500]))
  t.equal(learned.estimate('main/other', prompt), 1_000, 'another model has its own tokenizer')
  const withImage = { inputEstimate: 1_100, mediaEstimate: 1_000 }
  t.ok(Math.abs(learned.estimate(target, withImage) - 1_150) <= 1, 'the assumed tokens of images stay')
  learned.record(target, withImage, 300)
  t.ok(Math.abs(learned.estimate(target, prompt) - 1_500) < 10, 'nothing is learned from images')
})
