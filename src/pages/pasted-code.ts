/** Codes as people paste them: with blanks, in a sentence, in full-width signs. */

/** Six digits, however they are set apart; whatever else it is stays as it was typed. */
export function parseEmailCode(text: string): string {
  return /(?<!\d)(?:\d[\s-]*){5}\d(?!\d)/.exec(text.normalize('NFKC'))?.[0].replaceAll(/\D/g, '') ?? text.trim()
}

/** `XXXX-XXXX` in the alphabet of codes, which spells no ordinary word. */
export function parseDeviceCode(text: string): string {
  const letters = '[BCDFGHJKLMNPQRSTVWXZ]'
  const codeMatch = new RegExp(`(?<![A-Z])(${letters}{4})[\\s-]*(${letters}{4})(?![A-Z])`).exec(
    text.normalize('NFKC').toUpperCase(),
  )
  return codeMatch === null ? text.trim() : `${codeMatch[1]}-${codeMatch[2]}`
}
