/** The difference that `svc setup` shows before it writes. */
import { styleText } from 'node:util'
import { formatDifference } from '../../../system/terminal/format-difference.ts'
import { sanitizeText } from '../../terminal/sanitize-text.ts'

/** Secrets are shown by their first characters. Empty if the texts are equal. */
export function createDifference(path: string, before: string | undefined, after: string, secrets: readonly string[]): string {
  const patch = formatDifference(path, before, after)
  return secrets.reduce((text, secret) => text.replaceAll(secret, maskSecret(secret)), patch)
}

export function maskSecret(secret: string): string {
  const shownLength = secret.length < 20 ? 3 : 9
  return `${secret.slice(0, shownLength)}…`
}

/** For a terminal: without control sequences, in colours where it has them. */
export function styleDifference(difference: string, styled: boolean): string {
  const text = sanitizeText(difference)
  if (!styled) return text
  return text
    .split('\n')
    .map((line) => {
      const color = line.startsWith('+') ? 'green' : line.startsWith('-') ? 'red' : line.startsWith('@@') ? 'cyan' : undefined
      return color === undefined ? line : styleText(color, line, { validateStream: false })
    })
    .join('\n')
}
