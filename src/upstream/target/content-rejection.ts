/**
 * Rejections that are about the conversation and not about a setting: a file of a kind that the target does not take, or reasoning and
 * signatures of earlier answers that it requires. Servers name these in their own words; the examples are in the tests.
 */
import type { FilePartKind } from '../../conversation/media/find-media.ts'
import type { ErrorBody } from '../errors/error-body.ts'

/** Pictures are no such kind: a member who shows one expects a failure and not an answer without it. */
type LearnedKind = Exclude<FilePartKind, 'image'>

/** Types of parts, and the words of sentences about them. */
const kindNames: Readonly<Record<LearnedKind, { readonly types: string; readonly words: string }>> = {
  document: { types: 'file|input_file|document', words: 'files?|documents?|pdfs?' },
  audio: { types: 'input_audio|audio_url|audio', words: 'audio' },
  video: { types: 'video_url|input_video|video', words: 'videos?' },
}

const learnedKinds = Object.keys(kindNames) as LearnedKind[]

/** For each kind: a type of part that is unknown, or a kind of input that the model does not have. */
const kindPatterns: Readonly<Record<LearnedKind, readonly RegExp[]>> = {
  document: toPatterns(kindNames.document),
  audio: toPatterns(kindNames.audio),
  video: toPatterns(kindNames.video),
}

function toPatterns({ types, words }: { readonly types: string; readonly words: string }): readonly RegExp[] {
  const type = `['"\`]?(?:${types})['"\`]?(?![\\w-])`
  return [
    // OpenAI, Qwen, Groq: the list of types tells it from a value of another field.
    new RegExp(
      `\\binvalid value:? ?${type}[^\\n]{0,40}\\bsupported values are:?(?![^\\n]{0,200}json)[^\\n]{0,100}\\b(?:input_)?text\\b`,
      'i',
    ),
    // vLLM, SGLang.
    new RegExp(
      `\\b(?:unsupported|unknown|unrecognized|invalid|unexpected) (?:chat |message )?(?:content |part )(?:part |item |block )?(?:type)?:? ?${type}`,
      'i',
    ),
    // DeepSeek, and servers that check a schema.
    new RegExp(`\\bunknown variant ${type},? expected [^\\n]{0,100}\\btext\\b`, 'i'),
    new RegExp(`\\binput tag ${type} found using [^\\n]{0,100}\\btext\\b`, 'i'),
    // OpenAI, Anthropic.
    new RegExp(
      `\\b(?:does(?: not|n't)|cannot|can't) (?:support|accept|handle|process) (?:${words})(?: (?:content|input)(?: types?| parts?| blocks?)?| (?:inputs|parts|blocks|attachments|uploads))?(?: in [^\\n.]{0,40})?(?:[.,;:!"'\`}]|$)`,
      'im',
    ),
    new RegExp(
      `\\b(?:${words}) (?:content |input |inputs |parts? |blocks? |attachments? ){1,3}(?:is|are) not (?:supported|allowed)\\b`,
      'i',
    ),
  ]
}

/** llama.cpp names no type. */
const anyUnsupportedPart = /\bunsupported content\[\]\.type\b/i

/** The kinds among those of the request that the rejection is about. */
export function findRefusedMedia({ text, param }: ErrorBody, sent: ReadonlySet<FilePartKind>): readonly LearnedKind[] {
  if (param !== null && !/messages|content|input/.test(param)) return []
  const kinds = learnedKinds.filter((kind) => sent.has(kind))
  if (anyUnsupportedPart.test(text)) return kinds
  return kinds.filter((kind) => kindPatterns[kind].some((pattern) => pattern.test(text)))
}

const toolMediaPatterns = [
  // OpenAI: "Image URLs are only allowed for messages with role 'user', but this message with role 'tool' contains an image URL."
  /\bonly allowed (?:for|in) messages? with role ['"`]?user\b/i,
  /\brole ['"`]?tool['"`]?[^\n]{0,80}\b(?:must be|expected|only)[^\n]{0,40}\b(?:string|text)\b/i,
  /\btool (?:messages?|results?)[^\n]{0,80}\b(?:must|can|support)[^\n]{0,40}\b(?:string|text)\b/i,
  // A schema: "messages.2.content: Input should be a valid string", "messages[2].content: expected a string".
  /\bmessages?[.[]\d+\]?[.:]? ?(?:tool[. ])?content\b[^\n]{0,80}\b(?:string|text)\b/i,
] as const

/** Whether files in results of tools are rejected, where the request has some. */
export function isToolMediaRejected({ text, param }: ErrorBody): boolean {
  const namedText = param?.startsWith('messages') === true ? `${param}: ${text}` : text
  return toolMediaPatterns.some((pattern) => pattern.test(namedText))
}

const reasoningMissingPatterns = [
  // DeepSeek, Xiaomi.
  /\breasoning_content\b[^\n]{0,80}\bmust be (?:passed|provided|included|returned|sent|set)\b/i,
  // Moonshot; servers that check a schema.
  /\breasoning_content\b[^\n]{0,80}\b(?:missing|required|not (?:found|provided|present))\b/i,
  // DeepSeek, earlier.
  /\b(?:missing|requires?|must (?:have|include|contain))\b[^\n]{0,60}\breasoning_content\b/i,
] as const

/** Whether the reasoning of an earlier answer is required, and not there. */
export function isReasoningMissing({ text, param }: ErrorBody): boolean {
  if (param !== null && param.endsWith('reasoning_content') && /\b(?:missing|required)\b/i.test(text)) return true
  return reasoningMissingPatterns.some((pattern) => pattern.test(text))
}

/** Whether a signature of the model's thoughts is required, and not there: Gemini and what stands before it. */
export function isSignatureMissing({ text }: ErrorBody): boolean {
  return /\bmissing (?:a |the )?['"`]?thought[_ ]?signature\b|\bthought[_ ]?signature['"`]?[^\n]{0,40}\b(?:is|was) (?:missing|required)\b/i.test(
    text,
  )
}

/** Whether a signature is there that the target cannot read: another one wrote it. */
export function isSignatureInvalid({ text }: ErrorBody): boolean {
  return /\b(?:invalid|corrupted) ['"`]?(?:thought[_ ]?)?signature\b|\b(?:thought[_ ]?signature)['"`]?[^\n]{0,40}\b(?:is|was) (?:not valid|invalid|corrupted)\b/i.test(
    text,
  )
}
