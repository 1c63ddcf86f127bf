/** Every document that is made from the source: where it is, and how it reads now. */
import { readFileSync } from 'node:fs'
import { renderClientsPage } from './clients-page.ts'
import { renderConfigurationPage } from './configuration-page.ts'
import { renderErrorsPage } from './errors-page.ts'
import { createOpenApiDocument } from './openapi-document.ts'
import { updateTables } from './endpoint-tables.ts'
import { updateEndingTable } from './ending-table.ts'
import { updateMetricTable } from './metric-table.ts'

const root = new URL('../..', import.meta.url)

/** Texts that people write, with tables in them that are made. */
const documentsWithTables = ['docs/api.md', 'docs/ledger.md', 'docs/operations.md'] as const

export interface GeneratedDocument {
  readonly path: string
  readonly content: string
  readonly committed: string
}

export function renderDocuments(): readonly GeneratedDocument[] {
  return [
    {
      path: 'docs/openapi.json',
      content: `${JSON.stringify(createOpenApiDocument(), null, 2)}\n`,
      committed: readIfPresent('docs/openapi.json'),
    },
    { path: 'docs/errors.md', content: renderErrorsPage(), committed: readIfPresent('docs/errors.md') },
    { path: 'docs/configuration.md', content: renderConfigurationPage(), committed: readIfPresent('docs/configuration.md') },
    { path: 'docs/clients.md', content: renderClientsPage(), committed: readIfPresent('docs/clients.md') },
    ...documentsWithTables.map((path) => ({
      path,
      content: updateEndingTable(updateMetricTable(updateTables(readIfPresent(path)))),
      committed: readIfPresent(path),
    })),
  ]
}

/** Empty where it is not there yet. */
function readIfPresent(path: string): string {
  try {
    return readFileSync(new URL(path, root), 'utf8')
  } catch {
    return ''
  }
}
