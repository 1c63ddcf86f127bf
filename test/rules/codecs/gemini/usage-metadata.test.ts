/** Usage of the Gemini API becomes that of a chat completion. */
import t from 'tap'
import { readUsageMetadata } from '../../../../src/codecs/gemini/usage-metadata.ts'

t.test('thoughts are output once, beside the candidates or among them', async (t) => {
  for (const [metadata, output] of [
    [{ candidatesTokenCount: 5, thoughtsTokenCount: 50, totalTokenCount: 155 }, 55],
    [{ candidatesTokenCount: 5, thoughtsTokenCount: 50 }, 55],
    [{ thoughtsTokenCount: 50, totalTokenCount: 150 }, 50],
    [{ candidatesTokenCount: 5, thoughtsTokenCount: 50, toolUsePromptTokenCount: 20, totalTokenCount: 175 }, 55],
    [{ candidatesTokenCount: 55, thoughtsTokenCount: 50, totalTokenCount: 155 }, 55],
    [{ candidatesTokenCount: 55, thoughtsTokenCount: 50, toolUsePromptTokenCount: 20, totalTokenCount: 175 }, 55],
    // A total that leaves thoughts out.
    [{ candidatesTokenCount: 5, thoughtsTokenCount: 50, totalTokenCount: 105 }, 55],
    [{ candidatesTokenCount: 5, totalTokenCount: 105 }, 5],
  ] as const)
    t.equal(readUsageMetadata({ promptTokenCount: 100, ...metadata })?.completion_tokens, output, JSON.stringify(metadata))
})
