/**
 * Makes `dist/`, which is what the published package runs: the compiled sources, the files beside them that are not TypeScript
 * (style sheets, pictures), the types of what others may import, and the manual page. Run by `npm run build`. Types are taken out here,
 * not checked: that is `npm run types`, without which nothing is packed.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

rmSync(`${root}dist`, { recursive: true, force: true })
for (const project of ['tsconfig.build.json', 'tsconfig.types.json']) compile(project)
// The pages' modules know a browser's globals where all others know Node's, so they are a project of their own.
compile('src/pages/browser', '--noEmit', 'false', '--outDir', `${root}dist`, '--rootDir', root)
for (const folder of ['src', 'plugins']) {
  cpSync(`${root}${folder}`, `${root}dist/${folder}`, {
    recursive: true,
    filter: (path) => statSync(path).isDirectory() || !/(?:\.(?:ts|md)|\/tsconfig\.json)$/.test(path),
  })
}
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
 * @param {readonly string[]} words
 */
function run(program, words) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...words], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, SVC_LANG: 'en' },
  })
  if (status === 0) return stdout
  process.stderr.write(stdout + stderr)
  process.exit(1)
}
