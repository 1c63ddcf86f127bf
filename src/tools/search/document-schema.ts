/** The published JSON Schema (2020-12) of a search document: the shape of `src/api/search-document.ts` with this installation's names. */
import { z } from 'zod'
import { searchArguments, searchDocument } from '../../api/search-document.ts'
import type { BrandNames } from '../../exchange/brand-names.ts'

/** The document's schema with this installation's names. */
export function createDocumentSchema({ searchSchema }: Pick<BrandNames, 'searchSchema'>, model: string) {
  return searchDocument.extend({ schema: z.literal(searchSchema), model: z.literal(model) })
}

/** Without an `$id`: validators register schemas by it, and two with one name conflict. */
export function createDocumentJsonSchema(names: Pick<BrandNames, 'searchSchema'>, model: string) {
  return { title: names.searchSchema, ...toPublicJsonSchema(createDocumentSchema(names, model)) }
}

export const argumentsJsonSchema = toPublicJsonSchema(searchArguments)

/** Open for additional fields, as published. */
function toPublicJsonSchema(objectSchema: z.ZodObject): { type: 'object' } {
  const { $schema: _, ...schema } = z.toJSONSchema(objectSchema, { io: 'input' })
  return { ...schema, type: 'object' }
}
