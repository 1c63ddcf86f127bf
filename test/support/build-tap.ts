/**
 * `tap build` at a fifth of its price. It writes anew the class that tests are made of, with the plugins that package.json leaves in it, and
 * has the TypeScript compiler check it and make a package of it for two module systems, which takes ten seconds; to take the types out
 * takes one. Its declarations stay as tap publishes them, with all plugins; so does what `require` gives, and no test requires.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

interface Compiler {
  transpileModule(text: string, options: { compilerOptions: object }): { readonly outputText: string }
}

const generator = import.meta.resolve('@tapjs/test/generate-tap-test-class')
// What the generator calls to compile is replaced by this same file, which comes before every program that it starts.
const program = process.argv[1] ?? ''
if (program === fileURLToPath(import.meta.url)) await generate()
else if (/[\\/]tshy[\\/]/.test(program)) compile()

async function generate(): Promise<void> {
  const { defaultPlugins } = (await import(new URL('default-plugins.js', generator).href)) as { defaultPlugins: string[] }
  const { tap } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    tap: { plugin: string[] }
  }
  const { status } = spawnSync(
    process.execPath,
    [fileURLToPath(generator), ...defaultPlugins.filter((name) => !tap.plugin.includes(`!${name}`))],
    { stdio: 'inherit', env: { ...process.env, NODE_OPTIONS: `--import=${import.meta.url}` } },
  )
  process.exitCode = status ?? 1
}

/** In the folder of the class. A new file, because a package manager may share the old one among checkouts. */
function compile(): never {
  // tap's own compiler: Node's own way of taking types out needs imports that say which of them are types.
  const compiler = createRequire(generator)('typescript') as Compiler
  const compilerOptions = { module: 'esnext', target: 'esnext' }
  const { outputText } = compiler.transpileModule(readFileSync('src/index.ts', 'utf8'), { compilerOptions })
  writeFileSync('dist/esm/index.js.new', outputText)
  renameSync('dist/esm/index.js.new', 'dist/esm/index.js')
  process.exit(0)
}
