/** What is published of a search here: the shape of `src/api/search-document.ts`, with this installation's names in it, as JSON Schema 2020-12. */
import { z } from 'zod'
import { searchArguments, searchDocument } from '../../api/search-document.ts'
import type { Names } from '../../config/brand.ts'

/** The document with the names that it has here. */
export function documentShape({ searchSchema }: Pick<Names, 'searchSchema'>, model: string) {
  return searchDocument.extend({ schema: z.literal(searchSchema), model: z.literal(model) })
}

/** Without an `$id`: validators keep schemas by it, and two of a name would quarrel. */
export function documentSchema(names: Pick<Names, 'searchSchema'>, model: string) {
  return { title: names.searchSchema, ...published(documentShape(names, model)) }
}

export const argumentsSchema = published(searchArguments)

/** Open, as it is published: fields may be added. */
function published(shape: z.ZodObject): { type: 'object' } {
  const { $schema: _, ...schema } = z.toJSONSchema(shape, { io: 'input' })
  return { ...schema, type: 'object' }
}
