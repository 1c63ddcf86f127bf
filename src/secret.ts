/** This installation's own secret: made once, kept in a file that only its owner can read. */
import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const size = 32

/** Reads the secret, or makes it. Two processes that start at once end up with the same one. */
export function openSecret(dataDir: string): Buffer {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const file = join(dataDir, 'secret.key')
  const known = read(file)
  if (known !== null) return known
  const temporary = `${file}.${process.pid}`
  const handle = openSync(temporary, 'wx', 0o600)
  writeSync(handle, randomBytes(size))
  fsyncSync(handle)
  closeSync(handle)
  try {
    // A link, unlike a rename, fails where another process was first.
    linkSync(temporary, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    unlinkSync(temporary)
  }
  const made = read(file)
  if (made === null) throw new Error(`${file} cannot be read back.`)
  return made
}

function read(file: string): Buffer | null {
  try {
    const secret = readFileSync(file)
    if (secret.length !== size) throw new Error(`${file} is damaged: it must hold ${size} bytes. Restore it from a backup.`)
    return secret
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
