/** Which language a reader is answered in: what they chose here before, else what their browser asks for. */
export const languages = ['en', 'zh'] as const
export type Language = (typeof languages)[number]

export function isLanguage(value: unknown): value is Language {
  return value === 'en' || value === 'zh'
}

/** The first of our languages by the weights of an `Accept-Language` header (RFC 9110, 12.5.4); English when none fits. */
export function preferredLanguage(header: string | undefined): Language {
  const wishes = (header ?? '')
    .slice(0, 1000)
    .split(',')
    .map((item, place) => {
      const [range = '', ...parameters] = item.split(';').map((text) => text.trim().toLowerCase())
      const weight = Number(parameters.find((text) => text.startsWith('q='))?.slice(2) ?? 1)
      return { range, place, weight: Number.isFinite(weight) ? weight : 0 }
    })
    .filter(({ weight }) => weight > 0)
    .sort((one, other) => other.weight - one.weight || one.place - other.place)
  for (const { range } of wishes) {
    const primary = range.split('-', 1)[0]
    if (isLanguage(primary)) return primary
    if (range === '*') return 'en'
  }
  return 'en'
}
