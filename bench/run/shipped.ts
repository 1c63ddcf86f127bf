/** Whether what is measured is what is shipped. */

/** What a benchmark may change: how much an account may ask for, and how often. */
const quotas = [/^limits\.addressRpm$/, /^plans\.[\w-]+\.(?:rpm|concurrency|pools\.\w+\.\w+)$/]

/** The places where the two differ and may not. */
export function strayDifferences(shipped: unknown, measured: unknown): string[] {
  return differences('', shipped, measured).filter((place) => !quotas.some((quota) => quota.test(place)))
}

export function differences(place: string, one: unknown, other: unknown): string[] {
  if (!isTree(one) || !isTree(other)) return Object.is(one, other) ? [] : [place]
  const names = new Set([...Object.keys(one), ...Object.keys(other)])
  return [...names].flatMap((name) => differences(place === '' ? name : `${place}.${name}`, one[name], other[name]))
}

function isTree(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
