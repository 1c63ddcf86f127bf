/**
 * The site's own files: stylesheet, scripts, icon. Read once, at start; what costs more than reading is done when a browser asks. All of
 * them live under one content hash, so that modules import each other by plain relative paths and every address can be cached for good.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { toBrowserModule } from './browser-module.ts'

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
  // A module's source, which is served as the JavaScript that it becomes.
  ts: 'text/javascript; charset=utf-8',
}

/** Reads `browser/`, which stands beside this file in the checkout and in the package alike, there compiled. */
export function loadAssets(folder = new URL('./browser/', import.meta.url)): Assets {
  const digest = createHash('sha256')
  const files = new Map<string, Asset>()
  for (const name of readdirSync(folder).toSorted()) {
    const type = types[name.slice(name.lastIndexOf('.') + 1)]
    if (type === undefined) continue
    const source = readFileSync(new URL(name, folder))
    digest.update(name).update('\0').update(source)
    const plain = name.endsWith('.ts') ? once(() => Buffer.from(toBrowserModule(source.toString()))) : () => source
    files.set(name.replace(/\.ts$/, '.js'), {
      type,
      plain,
      br: once(() => brotliCompressSync(plain())),
      gzip: once(() => gzipSync(plain())),
    })
  }
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

function once(make: () => Buffer): () => Buffer {
  let made: Buffer | undefined
  return () => (made ??= make())
}
