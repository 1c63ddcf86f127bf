/**
 * Sanitizes an upstream's sentence for a caller: one line, at most 500 characters, without keys, tokens, URLs, addresses, file paths,
 * control characters, or any word in `redact` (the target's model id, host and key).
 *
 * It removes too much rather than too little: a validation message with a gap is still useful, a leaked key is not.
 */
export function sanitizeText(text: string, redact: readonly string[] = []): string {
  let line = cutAtWord(text).toWellFormed().replaceAll(unprintableCharacters, ' ')
  for (const word of redact) if (word.length > 2) line = line.replaceAll(word, mask)
  for (const pattern of secretPatterns) line = line.replaceAll(pattern, mask)
  return [...line.replaceAll(/\s+/g, ' ').trim()].slice(0, maxLength).join('')
}

/**
 * Removes what LiteLLM and Python servers put around a provider's sentence: names of exceptions before it, and after it the deployment and
 * advice about fallbacks.
 */
export function stripRouterText(text: string): string {
  return text.replace(exceptionNames, '').replace(routerTrailer, '')
}

const exceptionNames = /^(?:(?:\w{1,40}\.){0,3}\w{1,60}(?:Error|Exception)(?::| -)\s*)+/
const routerTrailer =
  /(?:^|\s)(?:model=\S* context_window_fallbacks=|context_window_fallbacks=|Set '\w*fallback|LiteLLM: model group|Received Model Group=|Available Model Group Fallbacks=|No fallback (?:was|model))[^]*$/

const mask = '…'
const maxLength = 500

/** Bounds the work of the patterns below, whatever the upstream sends. */
const maxInputLength = 4_000

/** Control characters, and invisible characters that reorder or hide text (bidirectional marks, zero-width joiners, tags). */
const unprintableCharacters = /[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}]/gu

const secretPatterns: readonly RegExp[] = [
  // URLs of any scheme, including `data:`; and addresses without a scheme.
  /\b[a-z][a-z0-9+.-]{1,20}:\/\/\S+/gi,
  /\bdata:[^\s,]*,\S*/gi,
  /\bwww\.\S+/gi,
  // Files of the upstream's server, but not a JSON pointer into the request; and names in a registry.
  /(?<![\w/])\/(?!(?:messages|tools|functions|response_format|body|properties)\b)(?:[\w.@+-]{1,100}\/){1,20}[\w.@:+-]*/g,
  /\b(?:[\w-]{1,63}\.){1,10}[a-z]{2,10}\/\S+/gi,
  /\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b/g,
  // The lookbehind makes one search of each word, instead of one from each of its characters.
  /(?<!\S)\S+@[\w-]+(?:\.[\w-]+)+/g,
  // The word after one that announces a credential.
  /\b(?:bearer|basic)\s+\S+/gi,
  /\b(?:api[-_ ]?key|authorization|secret|password|token)["']?\s*[:=]\s*\S+/gi,
  // The vendors' prefixes of keys, organisations, projects and requests, also when masked (`sk-ab***yz`).
  /\b(?:sk|pk|rk|gsk|hf|xai|org|proj|user|acct|req|key|ghp|pat|svc_live|svc_sess|whsec|nvapi|pplx|r8|fw|aiza|akia)[-_][\w*.-]{4,}/gi,
  /\b(?:AIza|AKIA|eyJ)[\w.-]{8,}/g,
  // A long run of characters with a digit is more likely an identifier than a word.
  /(?<![\w+/=*-])(?=[\w+/=*-]*\d)[\w+/=*-]{24,}/g,
]

/** Bounds a text. A cut in the middle of a word could leave half a key that no pattern matches. */
export function cutAtWord(text: string): string {
  if (text.length <= maxInputLength) return text
  const cutText = text.slice(0, maxInputLength)
  return cutText.slice(0, Math.max(0, cutText.search(/\s\S*$/)))
}
