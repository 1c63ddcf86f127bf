/** Prints the changelog's section of the version in package.json: `node .ci/release-notes.ts [tag]`. Exits with 1 where a release would be wrong. */
import { readFileSync } from 'node:fs'

/** @throws Error with one sentence where the tag, the version and the changelog do not agree */
export function findReleaseNotes(changelog: string, version: string, tag = `v${version}`): string {
  if (tag !== `v${version}`) throw new Error(`The tag ${tag} is not that of the version ${version} in package.json.`)
  const sections = changelog.split(/^(?=## )/m)
  const heading = `## ${version} — `
  const section = sections.find((text) => text.startsWith(heading))
  if (section === undefined) throw new Error(`CHANGELOG.md has no section that begins with '${heading}' and a date.`)
  if (!/^## \S+ — \d{4}-\d{2}-\d{2}\n/.test(section)) throw new Error(`The section of ${version} has no date.`)
  if (!/^Migrates the database: (?:yes|no)\.$/m.test(section) || !/^Back to \S+: .+\.$/m.test(section))
    throw new Error(`The section of ${version} needs two lines: 'Migrates the database: yes.' and 'Back to 0.1.0: by a backup.'`)
  return section.slice(section.indexOf('\n') + 1).trim()
}

if (import.meta.main) {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string }
  try {
    process.stdout.write(`${findReleaseNotes(readFileSync('CHANGELOG.md', 'utf8'), version, process.argv[2])}\n`)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  }
}
