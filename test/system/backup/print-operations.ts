/** Prints a line before each operation that changes the file system, so that a test can kill the process at any of them. */
import fs from 'node:fs'
import promises from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

const print = (): void => void fs.writeSync(1, '.\n')

for (const [module, names] of [
  [fs, ['renameSync', 'linkSync', 'rmSync', 'fsyncSync', 'copyFileSync', 'mkdirSync']],
  [promises, ['link', 'rm', 'open']],
] as const) {
  for (const name of names) {
    const original = Reflect.get(module, name) as (...values: unknown[]) => unknown
    Reflect.set(module, name, (...values: unknown[]) => {
      print()
      return original(...values)
    })
  }
}
syncBuiltinESMExports()
