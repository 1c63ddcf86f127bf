/** Passwords at rest: argon2id in a PHC string, so that each carries the parameters it was made with. */
import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

const derive = promisify(argon2)

/** OWASP's floor for argon2id: 19 MiB, two passes, one lane. */
const current = { memory: 19_456, passes: 2, parallelism: 1 } as const
const tagLength = 32
const saltLength = 16

/** Runs on a thread of the pool, not on the event loop; callers bound how many run at once. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(saltLength)
  const tag = await derive('argon2id', { message: Buffer.from(password), nonce: salt, tagLength, ...current })
  return `$argon2id$v=19$m=${current.memory},t=${current.passes},p=${current.parallelism}$${base64(salt)}$${base64(tag)}`
}

/** `rehash` asks for a new hash: this one was made with other parameters than today's. */
export async function verifyPassword(password: string, phc: string): Promise<{ readonly ok: boolean; readonly rehash: boolean }> {
  const parts = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/.exec(phc)
  if (parts === null) return { ok: false, rehash: false }
  const [, memory, passes, parallelism, salt = '', tag = ''] = parts
  const expected = Buffer.from(tag, 'base64')
  const parameters = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) }
  const found = await derive('argon2id', {
    message: Buffer.from(password),
    nonce: Buffer.from(salt, 'base64'),
    tagLength: expected.length,
    ...parameters,
  })
  const rehash =
    parameters.memory !== current.memory || parameters.passes !== current.passes || parameters.parallelism !== current.parallelism
  return { ok: timingSafeEqual(Buffer.from(found), expected), rehash }
}

function base64(bytes: Buffer | ArrayBuffer): string {
  return Buffer.from(bytes as Buffer)
    .toString('base64')
    .replaceAll('=', '')
}
