/** Guesses a browser's or program's name from its user agent, as in `Firefox on Linux`; otherwise the user agent, shortened. */

const browsers = [
  ['Edge', /\bEdg(e|A|iOS)?\//],
  ['Opera', /\bOPR\//],
  ['Samsung Internet', /\bSamsungBrowser\//],
  ['Firefox', /\b(Firefox|FxiOS)\//],
  ['Chrome', /\b(Chrome|CriOS|Chromium)\//],
  ['Safari', /\bVersion\/[\d.]+.*Safari\//],
] as const

const systems = [
  ['Android', /\bAndroid\b/],
  ['iOS', /\b(iPhone|iPad|iPod)\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Linux', /\bLinux\b/],
] as const

const maxNameChars = 60

export function parseClientName(userAgent: string): string | null {
  if (userAgent === '') return null
  const browser = browsers.find(([, pattern]) => pattern.test(userAgent))?.[0]
  const system = systems.find(([, pattern]) => pattern.test(userAgent))?.[0]
  if (browser !== undefined) return system === undefined ? browser : `${browser} on ${system}`
  // Only printable ASCII is kept; a name without any becomes null.
  return (
    userAgent
      .replaceAll(/[^\x20-\x7e]/g, '')
      .trim()
      .slice(0, maxNameChars) || null
  )
}
