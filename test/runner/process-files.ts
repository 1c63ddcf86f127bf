/** Groups test files into processes, because loading the code under test costs a file more than its tests. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, matchesGlob } from 'node:path'

const root = join(import.meta.dirname, '../..')

/** Files of one process, begun in this order: first what takes longest, so that nothing long is left at the end. A file is in the first that has it. */
const processGroups: readonly (readonly string[])[] = [
  ['test/system/e2e/website/browsers/{firefox,webkit}-journeys.*'],
  ['test/system/e2e/website/**'],
  ['test/system/clients/**'],
  ['test/system/operator/commands/{upgrade,killed-upgrade}.*'],
  ['test/system/e2e/cluster/**'],
  [
    'test/system/e2e/server/{first-run,workers,server-lock,graceful-shutdown}.*',
    'test/system/e2e/api/**',
    'test/system/launch.*',
  ],
  ['test/system/e2e/server/**', 'test/system/e2e/cli/**', 'test/system/cli/packaging.*'],
  ['test/system/operator/commands/{init.*,database/{stored-backups,migrate-store}.*}'],
  ['test/system/proxies/{large-refusals,pgbouncer,unavailable-node}.*'],
  ['test/system/proxies/{turns,client-address,doctor-from}.*'],
  ['test/system/http/**'],
  ['test/system/cli/workbench/**', 'test/system/cli/workbench-commands/**'],
  ['test/system/store/postgres/**', 'test/system/store/{postgres,ledgers-agree}.*'],
  ['test/system/{server,access,mail,examples}/**'],
  ['test/system/store/**'],
  ['test/system/e2e/**'],
  ['test/system/{operator,cli}/**'],
  ['test/system/{domain,upstream,backup,deploy}/**'],
  ['test/system/pages/**'],
  ['test/simulated/**'],
  ['test/rules/**'],
  // Its nodes refuse turns when the machine leaves them without processor or disk for three seconds; at the end less runs beside it.
  ['test/system/proxies/rolling-restart.*'],
  ['test/**'],
]

/** Writes one file for tap to start per process, and returns them in the order in which tap starts them, which is that of their names. */
export function writeProcessFiles(files: readonly string[], shuffle = <T>(items: readonly T[]): readonly T[] => items): string[] {
  const folder = join(root, '.tap/processes')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  let remaining = files
  const groups = processGroups.flatMap((globs) => {
    const groupFiles = remaining.filter((file) => globs.some((glob) => matchesGlob(file, glob)))
    remaining = remaining.filter((file) => !groupFiles.includes(file))
    const name = (globs[0] ?? '').replaceAll(/^test\/(?:system\/)?\W*|\W+$/g, '').replaceAll(/\W+/g, '-')
    return groupFiles.length === 0 ? [] : [{ name: name || 'others', files: shuffle(groupFiles) }]
  })
  return shuffle(groups).map(({ name, files }, index) => {
    const file = join(folder, `${String(index + 1).padStart(2, '0')}-${name}.test.ts`)
    const list = JSON.stringify(files, null, 2)
    writeFileSync(file, `import { runFiles } from '../../test/runner/run-files.ts'\n\nawait runFiles(${list})\n`)
    return file
  })
}
