/**
 * Quotes one word of a tmux command line for control mode. Within double quotes tmux still expands `$NAME`, escapes and
 * nothing else; a line end would end the command, so it is written as an escape.
 */
export function quoteWord(text: string): string {
  let out = '"'
  for (const char of text) {
    const code = char.codePointAt(0) ?? 0
    if (char === '"' || char === '\\' || char === '$') out += `\\${char}`
    else if (code < 32 || code === 127) out += `\\${code.toString(8).padStart(3, '0')}`
    else out += char
  }
  return `${out}"`
}

/**
 * Escapes text for an argument in which tmux expands formats (`-c`, `-n`, `rename-window`), where `#(command)` would run a shell.
 * A doubled hash is an ordinary character.
 */
export function escapeFormat(text: string): string {
  return text.replaceAll('#', '##')
}

/** Encodes text for a tmux option without line ends and quotes. Unpaired surrogates, which no URI can hold, become `\ufffd`. */
export function encodeOptionValue(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}

/** A workspace's title as one short line for the status bar; an option holds the whole title. */
export function toStatusLabel(title: string): string {
  const line = title.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim()
  const chars = [...line]
  return chars.length > 40 ? `${chars.slice(0, 39).join('')}…` : line
}
