/**
 * Builds `dist/`, which the published package runs: the compiled sources, the pages' bundled scripts and stylesheets, the files beside them that
 * are not TypeScript (pictures, the font), the public types, the commit, and the manual page. Run by `npm run build`. Types are stripped
 * here, not checked: `npm run types` checks them, and packing requires it.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleAssets } from '../src/pages/bundle-assets.ts'
import { readSourceCommit } from '../src/system/commit.ts'
import { findNeededFiles } from './find-needed-files.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const dist = join(root, 'dist')

/** The programs, the public interface and its types, and what no other file names. */
const entries = [
  'src/operator/main.js',
  'src/cli/main.js',
  'src/index.js',
  'src/index.d.ts',
  'gateway.config.js',
  'gateway.config.d.ts',
  'src/system/commit.txt',
  'svc.1',
  'svc-gateway.8',
]

rmSync(dist, { recursive: true, force: true })
for (const project of ['tsconfig.build.json', 'tsconfig.types.json']) compile(project)
for (const folder of ['src', 'plugins']) {
  cpSync(`${root}${folder}`, `${root}dist/${folder}`, {
    recursive: true,
    filter: (path) => statSync(path).isDirectory() || !/(?:\.(?:css|ts|md)|\/tsconfig\.json)$/.test(path),
  })
}
for (const [name, file] of bundleAssets()) writeFileSync(`${root}dist/src/pages/browser/${name}`, file)
writeFileSync(`${root}dist/svc.1`, run(`${root}dist/src/cli/main.js`, ['man']))
writeFileSync(`${root}dist/svc-gateway.8`, run(`${root}dist/src/operator/main.js`, ['man']))
// An image is built without the repository; its build passes the commit.
writeFileSync(join(dist, 'src/system/commit.txt'), `${process.env.SOURCE_COMMIT || (readSourceCommit(root) ?? 'unknown')}\n`)
removeUnneededFiles()

function removeUnneededFiles() {
  const needed = findNeededFiles(dist, entries)
  for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile() && !needed.has(relative(dist, path))) rmSync(path)
  }
}

/**
 * @param {string} project
 * @param {readonly string[]} options
 */
function compile(project, ...options) {
  run(`${root}node_modules/typescript/bin/tsc`, ['--noCheck', '--project', `${root}${project}`, ...options])
}

/**
 * @param {string} program
 * @param {readonly string[]} args
 */
function run(program, args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, SVC_LANG: 'en' },
  })
  if (status === 0) return stdout
  process.stderr.write(stdout + stderr)
  process.exit(1)
}
