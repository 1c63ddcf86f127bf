/** Guesses a browser's or program's name from its user agent, as in `Firefox on Linux` and `curl 8.5.0`. */

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

const maxNameChars = 32

export function parseClientName(userAgent: string): string | null {
  if (userAgent === '') return null
  const browser = browsers.find(([, pattern]) => pattern.test(userAgent))?.[0]
  const system = systems.find(([, pattern]) => pattern.test(userAgent))?.[0]
  // Every browser calls itself Mozilla. A program's first word is its name, with its version.
  const name = browser ?? (userAgent.startsWith('Mozilla/') ? 'Other browser' : parseProgramName(userAgent))
  return name === null || system === undefined ? name : `${name} on ${system}`
}

/** Null for a name without a letter. */
function parseProgramName(userAgent: string): string | null {
  const [, program = '', version = ''] = /^[^\w]*([\w.-]+)(?:\/(\d[\w.]*))?/.exec(userAgent) ?? []
  return /[a-z]/i.test(program) ? `${program} ${version}`.slice(0, maxNameChars).trim() : null
}
