/** A browser's or program's name as its user would say it: `Firefox on Linux`. A rough guess; what cannot be guessed is shown short. */

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

const shownChars = 60

export function clientName(userAgent: string): string | null {
  if (userAgent === '') return null
  const browser = browsers.find(([, pattern]) => pattern.test(userAgent))?.[0]
  const system = systems.find(([, pattern]) => pattern.test(userAgent))?.[0]
  if (browser !== undefined) return system === undefined ? browser : `${browser} on ${system}`
  // What is written in no letters of ours has no name left, and is called by its kind.
  return (
    userAgent
      .replaceAll(/[^\x20-\x7e]/g, '')
      .trim()
      .slice(0, shownChars) || null
  )
}
