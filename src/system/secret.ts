/** This installation's own secret: made once, kept in a file that only its owner can read. */
import { randomBytes, randomUUID } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { Unusable, whyNot } from './unusable.ts'

export const secretBytes = 32

/**
 * The secret as an operator gives it where it is not kept here: base64 of 32 bytes.
 * @throws Unusable
 */
export function parseSecretKey(text: string): Buffer {
  const secret = Buffer.from(text, 'base64')
  // Node's reader leaves out what is no base64. What was given is not repeated: it may be nearly right.
  if (secret.length !== secretBytes || secret.toString('base64').replace('=', '') !== text.trim().replace(/=$/, ''))
    throw new Unusable(
      `SECRET_KEY must be ${secretBytes} bytes in base64, as \`openssl rand -base64 ${secretBytes}\` makes them.`,
    )
  return secret
}

/**
 * Reads the secret, or makes it. Two processes that start at once end up with the same one.
 * @throws Unusable
 */
export function openSecret(file: string): Buffer {
  try {
    return read(file) ?? make(file)
  } catch (error) {
    if (error instanceof Unusable) throw error
    throw new Unusable(`${file} cannot be used: ${whyNot(error)}.`, { cause: error })
  }
}

function make(file: string): Buffer {
  // A name of its own: what a crash left behind must not be in the way, and in a container every process has the same number.
  const temporary = `${file}.${randomUUID()}.part`
  const handle = openSync(temporary, 'wx', 0o600)
  try {
    writeSync(handle, randomBytes(secretBytes))
    fsyncSync(handle)
    // A link, unlike a rename, fails where another process was first.
    linkSync(temporary, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    closeSync(handle)
    unlinkSync(temporary)
  }
  syncFolder(dirname(file))
  const made = read(file)
  if (made === null) throw new Unusable(`${file} cannot be read back.`)
  return made
}

function syncFolder(folder: string): void {
  // Windows has no such thing as a folder's contents on the disk.
  if (process.platform === 'win32') return
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

function read(file: string): Buffer | null {
  let secret: Buffer
  try {
    secret = readFileSync(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  if (secret.length !== secretBytes)
    throw new Unusable(`${file} is damaged: it must hold ${secretBytes} bytes. Restore it from a backup.`)
  return secret
}
