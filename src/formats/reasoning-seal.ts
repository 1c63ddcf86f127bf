/**
 * Seals reasoning texts: members return them with the next request, and only this installation can read them, for the same account.
 * A container is the prefix, then nonce, ciphertext and tag in base64url (AES-256-GCM, NIST SP 800-38D; the account is the additional
 * data).
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

/** Containers of another version are foreign. */
const prefix = 'rs1.'
const algorithm = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16
/** Longer reasoning is not returned; an empty container is foreign. */
const maxTextBytes = 1024 * 1024

/** @param secret the installation's secret; containers of an earlier one are foreign */
export function deriveSealKey(secret: Buffer): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, '', 'sealed reasoning', 32))
}

/** Whether it is a container of this service, also one that cannot be opened. */
export function isSealed(container: string): boolean {
  return container.startsWith(prefix)
}

export class ReasoningSeal {
  readonly #key: Uint8Array
  readonly #account: Buffer

  constructor(key: Uint8Array, account: string) {
    this.#key = key
    this.#account = Buffer.from(account)
  }

  /** Returns an empty string for a text that is too long. */
  seal(text: string): string {
    const plain = Buffer.from(text)
    if (plain.length > maxTextBytes) return ''
    const nonce = randomBytes(nonceBytes)
    const cipher = createCipheriv(algorithm, this.#key, nonce, { authTagLength: tagBytes })
    cipher.setAAD(this.#account)
    const sealedParts = [nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]
    return prefix + Buffer.concat(sealedParts).toString('base64url')
  }

  /** Null for a container that is foreign, damaged, or another account's. */
  unseal(container: string): string | null {
    if (!isSealed(container) || container.length > maxContainerLength) return null
    const bytes = Buffer.from(container.slice(prefix.length), 'base64url')
    if (bytes.length < nonceBytes + tagBytes) return null
    try {
      const decipher = createDecipheriv(algorithm, this.#key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
      decipher.setAAD(this.#account)
      decipher.setAuthTag(bytes.subarray(-tagBytes))
      return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()]).toString()
    } catch {
      return null
    }
  }
}

const maxContainerLength = prefix.length + Math.ceil(((nonceBytes + maxTextBytes + tagBytes) * 4) / 3)
