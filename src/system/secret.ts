/** The installation's secret: created once, stored in a file that only its owner can read. */
import { randomBytes, randomUUID } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { OperatorError, describeSystemError } from './operator-error.ts'

export const secretBytes = 32

/**
 * Parses the secret that an operator configures: base64 of 32 bytes.
 * @throws OperatorError
 */
export function parseSecretKey(text: string): Buffer {
  const secret = Buffer.from(text, 'base64')
  // Node's decoder ignores invalid characters. The input is not repeated in the message, because it may be almost right.
  if (secret.length !== secretBytes || secret.toString('base64').replace('=', '') !== text.trim().replace(/=$/, ''))
    throw new OperatorError(
      `SECRET_KEY must be ${secretBytes} bytes in base64, as \`openssl rand -base64 ${secretBytes}\` makes them.`,
    )
  return secret
}

/**
 * Reads the secret, or creates it. Two processes that start at once get the same one.
 * @throws OperatorError
 */
export function loadOrCreateSecret(file: string): Buffer {
  try {
    return readSecretFile(file) ?? createSecretFile(file)
  } catch (error) {
    if (error instanceof OperatorError) throw error
    throw new OperatorError(`${file} cannot be used: ${describeSystemError(error)}.`, { cause: error })
  }
}

function createSecretFile(file: string): Buffer {
  // A unique name: a file left by a crash must not collide, and in a container every process may have the same pid.
  const temporary = `${file}.${randomUUID()}.part`
  const handle = openSync(temporary, 'wx', 0o600)
  try {
    writeSync(handle, randomBytes(secretBytes))
    fsyncSync(handle)
    // link, unlike rename, fails if another process was first.
    linkSync(temporary, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    closeSync(handle)
    unlinkSync(temporary)
  }
  fsyncFolder(dirname(file))
  const secret = readSecretFile(file)
  if (secret === null) throw new OperatorError(`${file} cannot be read back.`)
  return secret
}

function fsyncFolder(folder: string): void {
  // Windows cannot fsync a folder.
  if (process.platform === 'win32') return
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

function readSecretFile(file: string): Buffer | null {
  let secret: Buffer
  try {
    secret = readFileSync(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  if (secret.length !== secretBytes)
    throw new OperatorError(`${file} is damaged: it must hold ${secretBytes} bytes. Restore it from a backup.`)
  return secret
}
