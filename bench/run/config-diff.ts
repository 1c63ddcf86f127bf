/** Compares the measured configuration with the shipped one. */

/** The keys that a benchmark may change: the quotas and rate limits of an account. */
const quotaPaths = [/^limits\.addressRpm$/, /^plans\.[\w-]+\.(?:rpm|concurrency|pools\.\w+\.\w+)$/]

/** The paths at which the two differ and must not. */
export function findStrayDifferences(shipped: unknown, measured: unknown): string[] {
  return findDifferences('', shipped, measured).filter((place) => !quotaPaths.some((quota) => quota.test(place)))
}

export function findDifferences(path: string, one: unknown, other: unknown): string[] {
  if (!isObject(one) || !isObject(other)) return Object.is(one, other) ? [] : [path]
  const names = new Set([...Object.keys(one), ...Object.keys(other)])
  return [...names].flatMap((name) => findDifferences(path === '' ? name : `${path}.${name}`, one[name], other[name]))
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
