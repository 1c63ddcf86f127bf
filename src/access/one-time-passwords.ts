/** Codes of authenticators, by otpauth, and the encryption of their secrets. */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import type { OneTimePasswords } from '../domain/identity/operators/one-time-passwords.ts'

const cipher = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16
const secretBytes = 20
const periodSeconds = 30
/** What every authenticator supports. */
const settings = { algorithm: 'SHA1', digits: 6, period: periodSeconds } as const

export function createOneTimePasswords({
  issuer,
  secret: installationSecret,
  random,
}: {
  /** The service's name in the authenticator. */
  readonly issuer: string
  readonly secret: Uint8Array
  readonly random: (size: number) => Uint8Array
}): OneTimePasswords {
  const key = Buffer.from(hkdfSync('sha256', installationSecret, '', 'second factors', 32))
  const createTotp = (secret: Uint8Array, label = ''): TOTP =>
    new TOTP({ ...settings, issuer, label, secret: new Secret({ buffer: Uint8Array.from(secret).buffer }) })
  return {
    createSecret: () => random(secretBytes),

    describe(secret, label) {
      const totp = createTotp(secret, label)
      return { uri: totp.toString(), key: totp.secret.base32 }
    },

    findStep(secret, code, now) {
      const delta = /^\d{6}$/.test(code) ? createTotp(secret).validate({ token: code, timestamp: now, window: 1 }) : null
      return delta === null ? undefined : Math.floor(now / 1000 / periodSeconds) + delta
    },

    encrypt(secret) {
      const nonce = randomBytes(nonceBytes)
      const encryption = createCipheriv(cipher, key, nonce)
      const text = Buffer.concat([encryption.update(secret), encryption.final()])
      return Buffer.concat([nonce, encryption.getAuthTag(), text])
    },

    decrypt(encrypted) {
      const headerBytes = nonceBytes + tagBytes
      if (encrypted.length < headerBytes) return undefined
      const decryption = createDecipheriv(cipher, key, encrypted.subarray(0, nonceBytes), { authTagLength: tagBytes })
      decryption.setAuthTag(encrypted.subarray(nonceBytes, headerBytes))
      try {
        return Buffer.concat([decryption.update(encrypted.subarray(headerBytes)), decryption.final()])
      } catch {
        return undefined
      }
    },
  }
}
