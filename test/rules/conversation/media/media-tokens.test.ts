/** Tokens of media by kind. */
import t from 'tap'
import { computeMediaTokens } from '../../../../src/conversation/media/media-tokens.ts'
import { defaultMediaFigures as figures } from '../../../support/media-figures.ts'

const tokensOf = (...items: Parameters<typeof computeMediaTokens>[0]) => computeMediaTokens(items, figures)

t.test('estimates a scanned document within a factor of three, and covers it', async (t) => {
  for (const [bytes, units, tokens] of [
    [200_000, null, 1_500],
    [200_000, 1, 1_500],
    [1_000_000, null, 9_000],
    [1_000_000, 5, 9_000],
    [3_000_000, null, 27_000],
    [3_000_000, 15, 27_000],
  ] as const) {
    const { likely, max } = tokensOf({ kind: 'document', bytes, units })
    t.ok(likely >= tokens / 3 && likely <= tokens * 3, `${likely} for ${tokens}`)
    t.ok(max >= tokens && max <= tokens * 3, `at most ${max} for ${tokens}`)
  }
})

t.test('has a floor by the size of a file that denies its length', async (t) => {
  t.ok(tokensOf({ kind: 'document', bytes: 10_000_000, units: 1 }).max >= 100_000)
  t.ok(tokensOf({ kind: 'audio', bytes: 20_000_000, units: 0.1 }).max >= 100 * figures.maxAudioSecondTokens)
  t.ok(tokensOf({ kind: 'video', bytes: 25_000_000, units: 0.1 }).max >= 10 * figures.maxVideoSecondTokens)
  t.equal(tokensOf({ kind: 'text', bytes: 5_000, units: null }).max, 5_000)
})

t.test('bounds a picture by its pixels', async (t) => {
  t.equal(tokensOf({ kind: 'image', bytes: 68, units: 1 }).max, figures.imageTokens, 'a pixel lifts no bound')
  t.equal(tokensOf({ kind: 'image', bytes: 500_000, units: 100_000_000 }).max, figures.maxImageTokens)
  t.equal(tokensOf({ kind: 'image', bytes: null, units: null }).max, figures.maxImageTokens, 'at an address')
})

t.test('never has a maximum below the likely number', async (t) => {
  for (const kind of ['image', 'document', 'office', 'text', 'audio', 'video'] as const)
    for (const bytes of [null, 0, 1, 100_000, 30_000_000])
      for (const units of [null, 0, 1, 10_000]) {
        const { likely, max } = tokensOf({ kind, bytes, units })
        t.ok(
          max >= likely && Number.isSafeInteger(likely) && Number.isSafeInteger(max),
          `${kind} ${bytes} ${units}: ${likely} ${max}`,
        )
      }
})
