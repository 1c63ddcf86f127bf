/** Rejections of files by their kind, and what is none: it would take a kind of files from all members. */
import t from 'tap'
import { readErrorBody, withoutQuotedPhrases } from '../../../../src/upstream/errors/error-body.ts'
import {
  findRefusedMedia,
  isReasoningMissing,
  isSignatureInvalid,
  isSignatureMissing,
} from '../../../../src/upstream/target/content-rejection.ts'

const all = new Set(['image', 'document', 'audio', 'video'] as const)

const read = (message: string, more: object = {}) =>
  withoutQuotedPhrases(readErrorBody(JSON.stringify({ error: { message, ...more } }), 'application/json'))

for (const [words, kinds] of [
  ['Unknown part type: file', ['document']],
  [
    "messages.0.content.1: Input tag 'file' found using 'type' does not match any of the expected tags: 'text', 'image_url'",
    ['document'],
  ],
  [
    "messages.0.content.0: Input tag 'document' found using 'type' does not match any of the expected tags: 'text', 'image'",
    ['document'],
  ],
  ["Invalid value: 'input_file'. Supported values are: 'input_text', 'input_image'.", ['document']],
  ["'claude-2.1' does not support PDF input.", ['document']],
  ['This model does not support documents.', ['document']],
  ['File inputs are not supported by this model', ['document']],
  ['This model does not support audio input', ['audio']],
  ["Invalid value: 'video_url'. Supported values are: 'text' and 'image_url'.", ['video']],
] as const)
  t.test(`a kind is refused: ${words}`, async (t) => {
    t.same(findRefusedMedia(read(words), all), kinds)
    t.same(findRefusedMedia(read(words), new Set(['image'])), [], 'where the request has none')
  })

for (const [words, more] of [
  ["Invalid value: 'file'. Supported values are: 'text', 'json_object', and 'json_schema'.", { param: 'response_format.type' }],
  ["Invalid value: 'file'. Supported values are: 'text', 'json_object', and 'json_schema'.", {}],
  ["Invalid value: 'document'. Supported values are: 'system', 'assistant', 'user', and 'tool'.", {}],
  ['Invalid file data: the PDF is damaged.', {}],
  ['The file could not be processed: it is encrypted.', {}],
  ['This endpoint does not support file type .docx', {}],
  ['Unsupported file format: use PDF.', {}],
  ['The document is too large. At most 100 pages are supported.', {}],
  ["Invalid value: 'this model does not support documents'. Supported values are: 'auto'.", {}],
  ['Invalid image: the file is no image.', {}],
] as const)
  t.test(`no kind is refused: ${words}`, async (t) => {
    t.same(findRefusedMedia(read(words, more), all), [])
  })

t.test('missing reasoning and signatures are distinguished from rejected ones', async (t) => {
  for (const words of ['Extra inputs are not permitted: reasoning_content', 'reasoning_content is not supported by this model'])
    t.notOk(isReasoningMissing(read(words)), words)
  t.ok(isSignatureMissing(read('Function call is missing a thought_signature in functionCall parts.')))
  t.notOk(isSignatureInvalid(read('Function call is missing a thought_signature in functionCall parts.')))
  for (const words of [
    'Corrupted thought signature.',
    'Thought signature is not valid',
    'messages.1.content.0: Invalid `signature` in `thinking` block',
  ])
    t.ok(isSignatureInvalid(read(words)), words)
})

t.test('the work on a hostile text is bounded', async (t) => {
  const before = process.threadCpuUsage()
  for (const piece of [
    'invalid value file ',
    'unsupported content ',
    'messages.1.content ',
    'reasoning_content ',
    'does not support files ',
  ])
    for (const find of [(text: string) => findRefusedMedia(read(text), all), (text: string) => isReasoningMissing(read(text))])
      find(piece.repeat(5_000))
  const { user } = process.threadCpuUsage(before)
  t.ok(user < 2_000_000, `${user} µs`)
})
