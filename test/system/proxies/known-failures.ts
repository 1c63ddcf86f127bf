/**
 * Checks that fail. Each is run like all others and must still fail, so that its line here goes with the fix.
 * A check returns its problems as sentences; none means that it holds.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { configurations } from '../../support/proxies/configurations.ts'

/** Faults of the gateway, as `configuration: check`. This list only gets shorter. */
export const knownFailures: ReadonlySet<string> = new Set([])

/** What the proxy itself cannot do, with the reason that `docs/proxies.md` gives. */
export const limitsOfProxies: ReadonlyMap<string, string> = new Map([
  ['Apache, one node: a client that leaves a silent stream is hung up on upstream', 'Apache notices at its next write'],
  ['Apache, one node: a client that leaves a whole answer is hung up on upstream', 'Apache does not notice'],
  ['Varnish, one node: a client that leaves a silent stream is hung up on upstream', 'Varnish notices at its next write'],
  ['Varnish, one node: a client that leaves a whole answer is hung up on upstream', 'Varnish does not notice'],
])

export async function check(
  t: Test,
  { of, title }: { readonly of: string; readonly title: string },
  findProblems: () => Promise<readonly string[]>,
): Promise<void> {
  const name = `${of}: ${title}`
  // A check that could not be made fails, also where it is known to find problems; the checks after it are made all the same.
  let failure: Error | null = null
  const problems = await findProblems().catch((error: Error) => {
    failure = error
    return [`${error}: ${String(error.cause)}`]
  })
  record(of, title, problems.length === 0)
  const reason = knownFailures.has(name) ? 'a known failure' : limitsOfProxies.get(name)
  if (reason === undefined || failure !== null) t.same(problems, [], name)
  else t.not(problems.length, 0, `${name} (${reason}; where it holds by now, take it off the list)`)
}

const results = new Map<string, Map<string, boolean>>()

function record(of: string, title: string, holds: boolean): void {
  const row = results.get(title) ?? new Map<string, boolean>()
  results.set(title, row.set(of, holds))
}

/** Compares what the checks of this file found with the table of `docs/proxies.md` after the comment `checks: name`. */
export function checkDocumentedTable(t: Test, name: string): void {
  const columns = configurations.map(({ name }) => name)
  const missing = columns.filter((of) => ![...results.values()].some((row) => row.has(of)))
  if (missing.length > 0) {
    results.clear()
    t.comment(`not compared with docs/proxies.md: ${missing.join(', ')} did not run`)
    return
  }
  const marks = ([title, row]: [string, Map<string, boolean>]): string =>
    `| ${title} | ${columns.map((of) => ({ true: 'yes', false: '**no**' })[String(row.get(of))] ?? '–').join(' | ')} |`
  const byTitle = ([one]: readonly [string, unknown], [other]: readonly [string, unknown]) => (one < other ? -1 : 1)
  const table = [
    `| | ${columns.join(' | ')} |`,
    `|---|${columns.map(() => '---|').join('')}`,
    ...[...results]
      .filter(([, row]) => columns.some((of) => row.has(of)))
      .toSorted(byTitle)
      .map(marks),
  ].join('\n')
  // The next file of this process has results of its own.
  results.clear()
  const document = readFileSync(join(import.meta.dirname, '../../../docs/proxies.md'), 'utf8')
  t.ok(
    document.includes(`<!-- checks: ${name} -->\n\n${table}\n`),
    `docs/proxies.md has after <!-- checks: ${name} -->\n${table}`,
  )
}
