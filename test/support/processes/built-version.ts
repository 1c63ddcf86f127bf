/** Builds a version of the package from its sources, and packs it as a release: a tarball with SHA256SUMS beside it. */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { toCleanCommand } from '../../runner/clean-command.ts'
import { checkoutRoot } from './server-process.ts'

/** @throws with the program's output */
export function runToEnd(program: string, words: readonly string[], cwd: string): string {
  const [command, all] = toCleanCommand(program, words)
  const { status, stdout, stderr } = spawnSync(command, all, { cwd, encoding: 'utf8', maxBuffer: 2 ** 28 })
  if (status !== 0) throw new Error(`${program} ${words.join(' ')} ended with ${status}: ${stdout}${stderr}`)
  return stdout
}

/** Whether this checkout has the commit: a shallow one has the newest only. */
export function hasCommit(commit: string): boolean {
  return spawnSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: checkoutRoot }).status === 0
}

/** Builds a commit, or the sources as they are. Returns the folder of the package, without its dependencies. */
export function buildVersion(folder: string, commit?: string): string {
  const sources = join(folder, `sources-${commit ?? 'now'}`)
  mkdirSync(sources)
  if (commit !== undefined) {
    const archive = join(folder, 'sources.tar')
    runToEnd('git', ['archive', '--output', archive, commit], checkoutRoot)
    runToEnd('tar', ['-xf', archive], sources)
  } else
    for (const name of ['bin', 'src', 'plugins', 'package.json', 'gateway.config.ts', ...configs])
      cpSync(join(checkoutRoot, name), join(sources, name), { recursive: true })
  symlinkSync(join(checkoutRoot, 'node_modules'), join(sources, 'node_modules'))
  runToEnd(process.execPath, ['bin/build.js'], sources)
  const built = join(folder, `built-${commit ?? 'now'}`)
  for (const name of ['bin', 'dist', 'package.json']) cpSync(join(sources, name), join(built, name), { recursive: true })
  return built
}

const configs = ['tsconfig.json', 'tsconfig.build.json', 'tsconfig.types.json']

interface ReleaseChanges {
  readonly version?: string
  /** What is replaced in files of the package. */
  readonly replacements?: readonly (readonly [file: string, pattern: RegExp, by: string])[]
}

/** Packs the built package as another version. Returns the tarball. */
export function packRelease(folder: string, built: string, { version, replacements = [] }: ReleaseChanges = {}): string {
  const manifest = JSON.parse(readFileSync(join(built, 'package.json'), 'utf8')) as { version: string }
  const name = version ?? manifest.version
  const release = join(folder, `release-${name}`)
  cpSync(built, join(release, 'package'), { recursive: true })
  writeFileSync(join(release, 'package/package.json'), JSON.stringify({ ...manifest, version: name }, null, 2))
  for (const [file, pattern, by] of replacements) {
    const path = join(release, 'package', file)
    const before = readFileSync(path, 'utf8')
    if (!pattern.test(before)) throw new Error(`${file} has no ${pattern}`)
    writeFileSync(path, before.replace(pattern, by))
  }
  const tarball = `svc-gateway-${name}.tgz`
  runToEnd('tar', ['--use-compress-program', 'gzip -1', '-cf', tarball, 'package'], release)
  writeFileSync(join(release, 'SHA256SUMS'), runToEnd('sha256sum', [tarball], release))
  return join(release, tarball)
}
