/** Formats a duration for operators in its largest unit of which there are at least two, as in `40 days` or `61 minutes`. */
export function formatDuration(ms: number): string {
  for (const [unitMs, name] of units) if (ms >= 2 * unitMs) return `${Math.round(ms / unitMs)} ${name}`
  return `${(ms / 1000).toFixed(1)} s`
}

const units = [
  [86_400_000, 'days'],
  [3_600_000, 'hours'],
  [60_000, 'minutes'],
] as const
