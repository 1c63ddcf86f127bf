/** A file of `deploy/` with its example values replaced, as an operator replaces them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const deploy = join(import.meta.dirname, '../../../deploy')

/** The host name in all files of `deploy/`. Tests keep it, and connect to loopback under it. */
export const publicHost = 'models.example.com'

/** Throws where an example value is not in the file, so that a change of the file cannot leave a test without it. */
export function readShippedFile(name: string, ownValues: Readonly<Record<string, string>>): string {
  let text = readFileSync(join(deploy, name), 'utf8')
  for (const [example, own] of Object.entries(ownValues)) {
    if (!text.includes(example)) throw new Error(`deploy/${name} has no ${example}`)
    text = text.replaceAll(example, own)
  }
  return text
}
