/** The installation's secret: created once, stored in a file that only its owner can read. */
import { randomBytes, randomUUID } from 'node:crypto'
import { chmodSync, closeSync, fsyncSync, linkSync, openSync, readFileSync, statSync, unlinkSync, writeSync } from 'node:fs'
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

/** The permissions of a secret that other users of the machine may read, as `644`; null if only its owner may, or it does not exist. */
export function findOpenMode(file: string): string | null {
  const mode = (statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o777
  return (mode & 0o077) === 0 || process.platform === 'win32' ? null : mode.toString(8)
}

/**
 * Makes the secret readable by its owner alone, where it is not; returns a warning for the operator then.
 * @throws OperatorError where that is not possible
 */
export function restrictSecretFile(file: string): string | null {
  const mode = findOpenMode(file)
  if (mode === null) return null
  const fault = `${file} could be read by other users of this machine (mode ${mode})`
  try {
    chmodSync(file, 0o600)
  } catch (error) {
    throw new OperatorError(`${fault}, and its mode cannot be changed: ${describeSystemError(error)}. Run: chmod 600 ${file}`, {
      cause: error,
    })
  }
  return `${fault}; it is 600 now`
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
