/**
 * Builds `dist/`, which the published package runs: the compiled sources, the pages' bundled scripts and stylesheets, the files beside them that
 * are not TypeScript (pictures, the font), the public types, and the manual page. Run by `npm run build`. Types are stripped here, not
 * checked: `npm run types` checks them, and packing requires it.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { bundleAssets } from '../src/pages/bundle-assets.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

rmSync(`${root}dist`, { recursive: true, force: true })
for (const project of ['tsconfig.build.json', 'tsconfig.types.json']) compile(project)
for (const folder of ['src', 'plugins']) {
  cpSync(`${root}${folder}`, `${root}dist/${folder}`, {
    recursive: true,
    filter: (path) => statSync(path).isDirectory() || !/(?:\.(?:css|ts|md)|\/tsconfig\.json)$/.test(path),
  })
}
for (const [name, file] of bundleAssets()) writeFileSync(`${root}dist/src/pages/browser/${name}`, file)
writeFileSync(`${root}dist/svc.1`, run(`${root}dist/src/cli/main.js`, ['man']))

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
