/** `--env NAME=value` given any number of times. */
import { usageFailure } from '../failure.ts'

export function keyValues(words: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    words.map((word) => {
      const at = word.indexOf('=')
      if (at < 1)
        throw usageFailure({ en: `--env takes NAME=value, not '${word}'.`, zh: `--env 的格式为 NAME=value,而不是“${word}”。` })
      return [word.slice(0, at), word.slice(at + 1)]
    }),
  )
}
