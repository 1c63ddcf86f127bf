/** A span of time as it is sold: `30d`, `1mo` or `1y`. Days and months are those of the operator's calendar. */

export interface Span {
  readonly count: number
  readonly unit: SpanUnit
}

const units = ['d', 'mo', 'y', 'ms'] as const
/** Milliseconds are what is left of a span that was interrupted. */
type SpanUnit = (typeof units)[number]

/** About a hundred years, so that every end is a valid date. */
const maxCount: Readonly<Record<SpanUnit, number>> = { d: 36_500, mo: 1_200, y: 100, ms: 3_155_760_000_000 }

/** Undefined where the text is no span, or one that is too long. */
export function parseSpan(text: string): Span | undefined {
  const [, digits = '', unit] = /^([1-9]\d{0,12})(d|mo|y|ms)$/.exec(text) ?? []
  const spanUnit = units.find((each) => each === unit)
  if (spanUnit === undefined || Number(digits) > maxCount[spanUnit]) return undefined
  return { count: Number(digits), unit: spanUnit }
}

export function formatSpan({ count, unit }: Span): string {
  return `${count}${unit}`
}
