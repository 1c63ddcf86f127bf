/** Encrypts waiting emails, so that a copy of the place where they wait signs in no one. */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { ownJsonBounds, parseJson } from '../system/parse-json.ts'

const cipher = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16

export class EmailEncryption {
  readonly #key: Buffer
  readonly #recipientKey: Buffer

  /** @param secret of the installation */
  constructor(secret: Uint8Array) {
    const deriveKey = (purpose: string): Buffer => Buffer.from(hkdfSync('sha256', secret, '', purpose, 32))
    this.#key = deriveKey('outgoing emails')
    this.#recipientKey = deriveKey('recipients of outgoing emails')
  }

  /** Nonce, authentication tag, encrypted JSON. */
  encrypt(value: unknown): Buffer {
    const nonce = randomBytes(nonceBytes)
    const encryption = createCipheriv(cipher, this.#key, nonce)
    const text = Buffer.concat([encryption.update(JSON.stringify(value), 'utf8'), encryption.final()])
    return Buffer.concat([nonce, encryption.getAuthTag(), text])
  }

  /** Undefined if it was encrypted with another key, or changed. */
  decrypt(encrypted: Buffer): unknown {
    const headerBytes = nonceBytes + tagBytes
    if (encrypted.length < headerBytes) return undefined
    const decryption = createDecipheriv(cipher, this.#key, encrypted.subarray(0, nonceBytes), { authTagLength: tagBytes })
    decryption.setAuthTag(encrypted.subarray(nonceBytes, headerBytes))
    try {
      const text = Buffer.concat([decryption.update(encrypted.subarray(headerBytes)), decryption.final()])
      return parseJson(text.toString('utf8'), ownJsonBounds)
    } catch {
      return undefined
    }
  }

  /** Identifies the emails of one recipient without naming it. */
  hashRecipient(address: string): Buffer {
    return createHmac('sha256', this.#recipientKey).update(address).digest()
  }
}
