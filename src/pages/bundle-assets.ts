/**
 * Scripts and stylesheets of pages as browsers load them: each entry module and each sheet of `styles/` with all that it imports in one
 * minified file, and each module of `lazy/` in a file that a page loads when it first needs it. Runs esbuild, which is installed in a
 * checkout; the package has the result.
 */
import type * as Esbuild from 'esbuild'
import { globSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The oldest browsers of members that the site is kept working in. */
const target = ['safari16.4', 'firefox128', 'chrome111']

/** By served name. Takes a tenth of a second, in which the calling thread does nothing else. */
export function bundleAssets(): ReadonlyMap<string, Buffer> {
  // Loaded here, because a server starts without it, and synchronously, as assets are made at their first request.
  const esbuild: typeof Esbuild = createRequire(import.meta.url)('esbuild')
  const folder = fileURLToPath(new URL('./browser/', import.meta.url))
  const entries = globSync('entries/*.ts', { cwd: folder })
  const lazy = globSync('lazy/*.ts', { cwd: folder })
  const sheets = globSync('styles/*.css', { cwd: folder })
  const { outputFiles } = esbuild.buildSync({
    entryPoints: [...entries, ...lazy, ...sheets].map((path) => `${folder}${path}`),
    // A module that is loaded later is a file of its own and not part of the page's; the font is beside the sheet that names it.
    external: [...lazy.map((path) => `*/${path}`), '*.woff2'],
    // The Markdown parser's table of named characters, in a size for browsers.
    alias: { entities: `${folder}chat/html-entities.ts` },
    bundle: true,
    minify: true,
    format: 'esm',
    target,
    outdir: folder,
    entryNames: '[name]',
    write: false,
    logLevel: 'silent',
  })
  return new Map(outputFiles.map(({ path, text }) => [basename(path), Buffer.from(toServedImports(text))]))
}

/** All files are served flat, so a module loaded later is beside the page's script. */
function toServedImports(script: string): string {
  return script.replaceAll(/\bimport\("[./]*\/lazy\/([\w-]+)\.ts"\)/g, 'import("./$1.js")')
}
