/**
 * Modules as browsers run them: without types, each line and column where it was, and with their imports by the names that files are
 * served under.
 */
import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'

/** Packages that pages use too; each is served in the files it has for browsers. */
const libraries = ['eventsource-parser']

/** A module of ours. In a checkout it has types; in the package they are gone, and imports of our own files are as they are served. */
export function toBrowserModule(file: string, source: string): string {
  const script = file.endsWith('.ts') ? withoutTypes(source) : source
  return script
    .replaceAll(/(?<=\bfrom '\.\/[\w-]+)\.ts(?=')/g, '.js')
    .replaceAll(/(?<=\bfrom ')([\w-]+)(?=')/g, (name) => (libraries.includes(name) ? `./${name}.js` : name))
}

/** The files of the libraries by the names they are served under: the one imported by the package's, the others behind it. */
export function libraryModules(): Map<string, string> {
  const modules = new Map<string, string>()
  for (const library of libraries) {
    const entry = new URL(import.meta.resolve(library))
    const served = (address: URL): string =>
      address.href === entry.href
        ? `${library}.js`
        : `${library}.${address.pathname.slice(address.pathname.lastIndexOf('/') + 1)}`
    const wanted = [entry]
    for (const address of wanted) {
      const script = readFileSync(address, 'utf8').replace(/\n\/\/# sourceMappingURL=\S+\s*$/, '\n')
      modules.set(
        served(address),
        script.replaceAll(/(?<=\bfrom ?['"])\.\/[\w./-]+(?=['"])/g, (path) => {
          const other = new URL(path, address)
          if (!wanted.some(({ href }) => href === other.href)) wanted.push(other)
          return `./${served(other)}`
        }),
      )
    }
  }
  return modules
}

function withoutTypes(source: string): string {
  const { emitWarning } = process
  try {
    // Node says once a process that the function is experimental. That is ours to know, not the operator's to read at their first page.
    process.emitWarning = () => undefined
    return stripTypeScriptTypes(source)
  } finally {
    process.emitWarning = emitWarning
  }
}
