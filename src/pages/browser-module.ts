/**
 * A page's module as a browser runs it: without its types, each line and column where it was, and its imports by the names that files are
 * served under. Only in a checkout; the package has compiled ones.
 */
import { stripTypeScriptTypes } from 'node:module'

export function toBrowserModule(source: string): string {
  // As `tsc` rewrites them for the package: the source names files as they lie there, like all of the project.
  return withoutTypes(source).replaceAll(/(?<=\bfrom '\.\/[\w-]+)\.ts(?=')/g, '.js')
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
