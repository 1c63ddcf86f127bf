/** An authenticator in software: answers as a browser writes them, with any part of them forged. */
import { createHash, createPublicKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { isoCBOR } from '@simplewebauthn/server/helpers'

export interface Forgery {
  readonly challenge?: string
  readonly origin?: string
  readonly rpId?: string
  readonly type?: string
  readonly counter?: number
  /** Present and verified: 5. */
  readonly flags?: number
  readonly format?: string
  /** Of the attestation. */
  readonly certificate?: Uint8Array
}

interface CeremonyOptions {
  readonly challenge: string
}

export class SoftwareAuthenticator {
  readonly credential = randomBytes(32)
  readonly #origin: string
  readonly #privateKey: KeyObject
  readonly #publicKey: Uint8Array

  constructor(origin: string) {
    this.#origin = origin
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    this.#privateKey = privateKey
    const { x = '', y = '' } = createPublicKey(privateKey).export({ format: 'jwk' })
    this.#publicKey = isoCBOR.encode(
      new Map<number, number | Uint8Array>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, Uint8Array.from(Buffer.from(x, 'base64url'))],
        [-3, Uint8Array.from(Buffer.from(y, 'base64url'))],
      ]),
    )
  }

  /** The answer of `navigator.credentials.create`, as JSON. */
  register(options: CeremonyOptions, forgery: Forgery = {}): string {
    const length = Buffer.alloc(2)
    length.writeUInt16BE(this.credential.length)
    const attested = Buffer.concat([Buffer.alloc(16), length, this.credential, this.#publicKey])
    const authData = Uint8Array.from(this.#writeData({ flags: 0x45, ...forgery }, attested))
    const clientData = this.#writeClientData('webauthn.create', options, forgery)
    const statement = new Map<string, number | Uint8Array | Uint8Array[]>()
    const { certificate } = forgery
    if (certificate !== undefined) statement.set('alg', -7).set('sig', new Uint8Array(64)).set('x5c', [certificate])
    const attestation = isoCBOR.encode(
      new Map<string, unknown>([
        ['fmt', forgery.format ?? 'none'],
        ['attStmt', statement],
        ['authData', authData],
      ]) as Parameters<typeof isoCBOR.encode>[0],
    )
    return this.#write({ clientDataJSON: toText(clientData), attestationObject: toText(attestation), transports: ['internal'] })
  }

  /** The answer of `navigator.credentials.get`, as JSON. */
  prove(options: CeremonyOptions, forgery: Forgery = {}): string {
    const authenticatorData = this.#writeData(forgery, Buffer.alloc(0))
    const clientData = this.#writeClientData('webauthn.get', options, forgery)
    const hash = createHash('sha256').update(clientData).digest()
    const signature = sign('sha256', Buffer.concat([authenticatorData, hash]), this.#privateKey)
    const parts = { authenticatorData: toText(authenticatorData), signature: toText(signature) }
    return this.#write({ clientDataJSON: toText(clientData), ...parts })
  }

  #write(response: object): string {
    const id = toText(this.credential)
    return JSON.stringify({ id, rawId: id, type: 'public-key', response })
  }

  #writeClientData(type: string, { challenge }: CeremonyOptions, forgery: Forgery): Buffer {
    return Buffer.from(JSON.stringify({ type, challenge, origin: this.#origin, crossOrigin: false, ...pick(forgery) }))
  }

  #writeData({ rpId = new URL(this.#origin).hostname, flags = 5, counter = 0 }: Forgery, attested: Buffer): Buffer {
    const count = Buffer.alloc(4)
    count.writeUInt32BE(counter)
    return Buffer.concat([createHash('sha256').update(rpId).digest(), Buffer.from([flags]), count, attested])
  }
}

function pick({ challenge, origin, type }: Forgery): object {
  return { ...(challenge && { challenge }), ...(origin && { origin }), ...(type && { type }) }
}

function toText(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url')
}
