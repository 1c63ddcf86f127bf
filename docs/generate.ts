/** `npm run docs`: writes what is made from the source. */
import { writeFileSync } from 'node:fs'
import { renderDocuments } from './generate/documents.ts'

for (const { path, content, committed } of renderDocuments()) {
  if (content === committed) continue
  writeFileSync(new URL(`../${path}`, import.meta.url), content)
  process.stdout.write(`${path} was written.\n`)
}
