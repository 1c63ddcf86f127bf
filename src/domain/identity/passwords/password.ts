/** Passwords: the rules for accepting one, and argon2id hashing into a PHC string, which carries its parameters. */
import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { isCommonPassword } from './common-passwords.ts'

const deriveKey = promisify(argon2)

/** OWASP's minimum for argon2id: 19 MiB, two passes, parallelism 1. */
const currentParameters = { memory: 19_456, passes: 2, parallelism: 1 } as const
const tagLength = 32
const saltLength = 16

/** In code points. There are no character class rules. */
export const passwordLengthBounds = { min: 8, max: 128 } as const

export type PasswordVerdict = 'good' | 'short' | 'long' | 'common'

/** `email` is the account's: attackers try the address and its parts right after the common passwords. */
export function checkPassword(password: string, email: string): PasswordVerdict {
  // Code points are counted only if the length can be valid.
  if (password.length > passwordLengthBounds.max * 2) return 'long'
  const { length } = [...password]
  if (length < passwordLengthBounds.min) return 'short'
  if (length > passwordLengthBounds.max) return 'long'
  const lowerCased = password.toLowerCase()
  const local = email.slice(0, email.lastIndexOf('@'))
  if (isCommonPassword(password) || lowerCased === email || lowerCased === local || new Set(lowerCased).size < 3) return 'common'
  return 'good'
}

/** Runs on a thread of the pool, not on the event loop. Callers limit concurrency. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(saltLength)
  const tag = await deriveKey('argon2id', { message: Buffer.from(password), nonce: salt, tagLength, ...currentParameters })
  return formatHash(salt, tag)
}

/** The hash that unknown accounts are compared with, so that they take the same time. */
export const decoyHash = formatHash(randomBytes(saltLength), randomBytes(tagLength))

/** `rehash`: the hash was made with other parameters than the current ones and should be replaced. */
export async function verifyPassword(password: string, phc: string): Promise<{ readonly ok: boolean; readonly rehash: boolean }> {
  const parts = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/.exec(phc)
  if (parts === null) return { ok: false, rehash: false }
  const [, memory, passes, parallelism, salt = '', tag = ''] = parts
  const expectedTag = Buffer.from(tag, 'base64')
  const parameters = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) }
  const computedTag = await deriveKey('argon2id', {
    message: Buffer.from(password),
    nonce: Buffer.from(salt, 'base64'),
    tagLength: expectedTag.length,
    ...parameters,
  })
  const rehash =
    parameters.memory !== currentParameters.memory ||
    parameters.passes !== currentParameters.passes ||
    parameters.parallelism !== currentParameters.parallelism
  return { ok: timingSafeEqual(Buffer.from(computedTag), expectedTag), rehash }
}

function formatHash(salt: Buffer, tag: Buffer | ArrayBuffer): string {
  const { memory, passes, parallelism } = currentParameters
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${toUnpaddedBase64(salt)}$${toUnpaddedBase64(tag)}`
}

function toUnpaddedBase64(bytes: Buffer | ArrayBuffer): string {
  return Buffer.from(bytes as Buffer)
    .toString('base64')
    .replaceAll('=', '')
}
