/**
 * One word of a tmux command line, as control mode reads it. Within double quotes tmux still expands `$NAME`, escapes and
 * nothing else; a line end would end the command, so it is written as an escape.
 */
export function word(text: string): string {
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
 * Text for an argument in which tmux expands formats (`-c`, `-n`, `rename-window`): there `#(command)` would run a shell.
 * Doubling the hash makes it an ordinary character.
 */
export function literal(text: string): string {
  return text.replaceAll('#', '##')
}

/** Text as an option keeps it: tmux sees neither its line ends nor its quotes. Half characters, which no URI can hold, become `\ufffd`. */
export function kept(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}

/** A workspace's title as one short line for the status bar; the whole title is kept elsewhere. */
export function label(title: string): string {
  const line = title.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim()
  const chars = [...line]
  return chars.length > 40 ? `${chars.slice(0, 39).join('')}…` : line
}
