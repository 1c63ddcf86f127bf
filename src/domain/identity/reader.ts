/** How a person reads: what an email to them is written in. */

export interface Reader {
  /** Null if nothing is known: an email is then in both languages. */
  readonly language: 'en' | 'zh' | null
  /** IANA name, as in `Asia/Shanghai`; null: UTC. */
  readonly timeZone: string | null
}

export const unknownReader: Reader = { language: null, timeZone: null }

/** The zone if this runtime knows it; a client may send anything. */
export function parseTimeZone(value: string): string | null {
  if (!/^[\w+/-]{1,64}$/.test(value)) return null
  try {
    return new Intl.DateTimeFormat('en', { timeZone: value }).resolvedOptions().timeZone
  } catch {
    return null
  }
}
