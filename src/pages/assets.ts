/**
 * The site's static files: stylesheets, scripts, icons, font. Read once at start; bundling and compression run at the first request. All files
 * share one content hash, so that a script loads others by plain relative paths and every URL can be cached permanently.
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { bundleAssets } from './bundle-assets.ts'

export interface Asset {
  readonly type: string
  // Each variant is created at its first request, so that the start does not wait for it.
  readonly identity: () => Buffer
  readonly br: () => Buffer
  readonly gzip: () => Buffer
}

export interface Assets {
  readonly hash: string
  /** By file name. */
  readonly files: ReadonlyMap<string, Asset>
  readonly url: (name: string) => string
}

const types = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  png: 'image/png',
  svg: 'image/svg+xml',
  woff2: 'font/woff2',
} as const
const typeByExtension: Readonly<Record<string, string>> = types

/** The rooms whose modules are bundled too. */
const bundledFolders = ['../markdown/', '../setup/', '../setup/clients/'].map((path) => new URL(path, import.meta.url))
/** A module that the server and the scripts share. */
const sharedModule = new URL('./pasted-code.ts', import.meta.url)
const lockFile = new URL('../../package-lock.json', import.meta.url)

/** One bundle for all servers of a process. */
const bundleOnce = memoize(bundleAssets)

/** Reads `browser/`, which stands beside this file: in the checkout its sources, in the package its bundled scripts and stylesheets. */
export function loadAssets(): Assets {
  const folder = new URL('./browser/', import.meta.url)
  const digest = createHash('sha256')
  const files = new Map<string, Asset>()
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted()
  for (const path of paths) {
    const extension = getExtension(path)
    const type = typeByExtension[extension]
    if (type === undefined && extension !== 'ts') continue
    const source = readFileSync(new URL(path, folder))
    digest.update(path).update('\0').update(source)
    if (type !== undefined && !isStyleSource(path))
      files.set(
        basename(path),
        createAsset(type, () => source),
      )
  }
  for (const path of paths) {
    const [, module] = /^(?:entries|lazy)\/([\w-]+)\.ts$/.exec(path) ?? []
    const [, sheet] = /^styles\/([\w-]+\.css)$/.exec(path) ?? []
    const name = module === undefined ? sheet : `${module}.js`
    if (name !== undefined)
      files.set(
        name,
        createAsset(module === undefined ? types.css : types.js, () => getBundled(name)),
      )
  }
  // In a checkout the modules of other rooms and the versions of libraries decide too what the scripts are.
  for (const room of bundledFolders)
    for (const entry of readdirSync(room, { withFileTypes: true }).toSorted((one, other) => (one.name < other.name ? -1 : 1)))
      if (entry.isFile()) digest.update(readFileSync(new URL(entry.name, room)))
  for (const file of [sharedModule, lockFile]) if (existsSync(file)) digest.update(readFileSync(file))
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

function getBundled(name: string): Buffer {
  const file = bundleOnce().get(name)
  if (file === undefined) throw new Error(`The bundle has no file '${name}'.`)
  return file
}

/** A sheet before bundling, which is not served. */
function isStyleSource(path: string): boolean {
  return path.startsWith('styles/')
}

function createAsset(type: string, make: () => Buffer): Asset {
  const identity = memoize(make)
  return {
    type,
    identity,
    br: memoize(() => brotliCompressSync(identity())),
    gzip: memoize(() => gzipSync(identity())),
  }
}

function getExtension(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1)
}

function memoize<Made>(make: () => Made): () => Made {
  let memoizedValue: Made | undefined
  return () => (memoizedValue ??= make())
}
