/**
 * `tap build` in a fifth of the time. It generates the class that tests use, with the plugins that package.json leaves enabled. The original
 * runs the TypeScript compiler to check it and to build a package for two module systems, which takes ten seconds; stripping the types takes
 * one. The declarations stay as tap publishes them, with all plugins; so does the CommonJS build, which no test uses.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

interface Compiler {
  transpileModule(text: string, options: { compilerOptions: object }): { readonly outputText: string }
}

const generator = import.meta.resolve('@tapjs/test/generate-tap-test-class')
// The compiler that the generator calls is replaced by this same file, which is preloaded in every program that it starts.
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

/** Written into the folder of the class as a new file, because a package manager may share the old one among checkouts. */
function compile(): never {
  // tap's own compiler: Node's type stripping requires imports that mark which of them are types.
  const compiler = createRequire(generator)('typescript') as Compiler
  const compilerOptions = { module: 'esnext', target: 'esnext' }
  const { outputText } = compiler.transpileModule(readFileSync('src/index.ts', 'utf8'), { compilerOptions })
  writeFileSync('dist/esm/index.js.new', outputText)
  renameSync('dist/esm/index.js.new', 'dist/esm/index.js')
  process.exit(0)
}
