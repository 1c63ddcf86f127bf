/** Every document that is made from the source: where it is, and how it reads now. */
import { readFileSync } from 'node:fs'
import { errorsPage } from './errors.ts'
import { openapi } from './openapi.ts'
import { withTables } from './tables.ts'

const root = new URL('..', import.meta.url)

/** Texts that people write, with tables in them that are made. */
const texts = ['src/api/README.md', 'src/http/routes/membership/README.md'] as const

export interface MadeDocument {
  readonly path: string
  readonly now: string
  readonly committed: string
}

export function documents(): readonly MadeDocument[] {
  return [
    { path: 'docs/openapi.json', now: `${JSON.stringify(openapi(), null, 2)}\n`, committed: read('docs/openapi.json') },
    { path: 'docs/errors.md', now: errorsPage(), committed: read('docs/errors.md') },
    ...texts.map((path) => ({ path, now: withTables(read(path)), committed: read(path) })),
  ]
}

/** Empty where it is not there yet. */
function read(path: string): string {
  try {
    return readFileSync(new URL(path, root), 'utf8')
  } catch {
    return ''
  }
}
