/**
 * The site's own files: stylesheet, scripts, icon. Read once, at start; what costs more than reading is done when a browser asks. All of
 * them live under one content hash, so that modules import each other by plain relative paths and every address can be cached for good.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { libraryModules, toBrowserModule } from './browser-module.ts'

export interface Asset {
  readonly type: string
  // Each is made when it is asked for first: a start must not wait for what no browser may want.
  readonly plain: () => Buffer
  readonly br: () => Buffer
  readonly gzip: () => Buffer
}

export interface Assets {
  readonly hash: string
  /** By file name. */
  readonly files: ReadonlyMap<string, Asset>
  readonly url: (name: string) => string
}

const types: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
}

/** Reads `browser/`, which stands beside this file in the checkout and in the package alike, there compiled. */
export function loadAssets(): Assets {
  const folder = new URL('./browser/', import.meta.url)
  const digest = createHash('sha256')
  const files = new Map<string, Asset>()
  const add = (name: string, source: Buffer | string, make: () => Buffer): void => {
    const type = types[extensionOf(name)]
    if (type === undefined) return
    digest.update(name).update('\0').update(source)
    const plain = once(make)
    files.set(name, { type, plain, br: once(() => brotliCompressSync(plain())), gzip: once(() => gzipSync(plain())) })
  }
  for (const name of readdirSync(folder).toSorted()) {
    const source = readFileSync(new URL(name, folder))
    const isModule = ['ts', 'js'].includes(extensionOf(name))
    const served = name.replace(/\.ts$/, '.js')
    add(served, source, isModule ? () => Buffer.from(toBrowserModule(name, source.toString())) : () => source)
  }
  for (const [name, script] of libraryModules()) add(name, script, () => Buffer.from(script))
  const hash = digest.digest('base64url').slice(0, 12)
  return {
    hash,
    files,
    url(name) {
      if (!files.has(name)) throw new Error(`The site has no file '${name}' in its browser folder.`)
      return `/assets/${hash}/${name}`
    },
  }
}

function extensionOf(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1)
}

function once(make: () => Buffer): () => Buffer {
  let made: Buffer | undefined
  return () => (made ??= make())
}
