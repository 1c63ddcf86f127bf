/**
 * Makes a sentence of the upstream's fit to be shown to a caller: one line, at most 500 characters, without keys, tokens,
 * URLs, addresses, control characters, or any of the words in `hide` (the target's model id, its host, its key).
 *
 * It errs on the side of removing: a validation message with a hole in it is still useful, a leaked key is not.
 */
export function safeText(text: string, hide: readonly string[] = []): string {
  let line = wholeWords(text).toWellFormed().replaceAll(unprintable, ' ')
  for (const word of hide) if (word.length > 2) line = line.replaceAll(word, hole)
  for (const pattern of secrets) line = line.replaceAll(pattern, hole)
  return [...line.replaceAll(/\s+/g, ' ').trim()].slice(0, longest).join('')
}

const hole = '…'
const longest = 500

/** Bounds the work of the patterns below, whatever the upstream sends. */
const longestRead = 4_000

/** Controls, and the invisible characters that reorder or hide text (bidirectional marks, zero-width joiners, tags). */
const unprintable = /[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}]/gu

const secrets: readonly RegExp[] = [
  // Any scheme, `data:` included; and addresses that go without one.
  /\b[a-z][a-z0-9+.-]{1,20}:\/\/\S+/gi,
  /\bdata:[^\s,]*,\S*/gi,
  /\bwww\.\S+/gi,
  /\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b/g,
  /\S+@[\w-]+(?:\.[\w-]+)+/g,
  // Whatever follows the word that announces a credential.
  /\b(?:bearer|basic)\s+\S+/gi,
  /\b(?:api[-_ ]?key|authorization|secret|password|token)["']?\s*[:=]\s*\S+/gi,
  // The vendors' prefixes: keys, organisations, projects, requests. Masked ones (`sk-ab***yz`) as well.
  /\b(?:sk|pk|rk|gsk|hf|xai|org|proj|user|acct|req|key|ghp|pat|svc_live|svc_sess|whsec|nvapi|pplx|r8|fw|aiza|akia)[-_][\w*.-]{4,}/gi,
  /\b(?:AIza|AKIA|eyJ)[\w.-]{8,}/g,
  // Any long run of characters with a digit in it is more likely an identifier than a word.
  /(?=[\w+/=*-]*\d)[\w+/=*-]{24,}/g,
]

/** A cut in the middle of a word could leave half a key that no pattern knows any more. */
function wholeWords(text: string): string {
  if (text.length <= longestRead) return text
  const cut = text.slice(0, longestRead)
  return cut.slice(0, Math.max(0, cut.search(/\s\S*$/)))
}
