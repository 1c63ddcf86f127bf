/** `npm run docs`: writes what is made from the source. */
import { writeFileSync } from 'node:fs'
import { documents } from './documents.ts'

for (const { path, now, committed } of documents()) {
  if (now === committed) continue
  writeFileSync(new URL(`../${path}`, import.meta.url), now)
  process.stdout.write(`${path} was written.\n`)
}
