/** Signed, expiring image links. Chat programs load images without headers, so the link itself is the permission. */
import { createHash, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { GatewayError } from '../errors.ts'
import type { ImageKind } from '../domain/image.ts'
import { fileExtensions } from './sniff.ts'

/** A key and the short id by which a signature names it. */
interface SigningKey {
  readonly kid: string
  readonly key: Buffer
}

export class ImageLinks {
  readonly #current: SigningKey

  /** @param secret the installation's secret; a new one invalidates every link made before */
  constructor(secret: Buffer) {
    const key = Buffer.from(hkdfSync('sha256', secret, '', 'image links', 32))
    this.#current = { key, kid: createHash('sha256').update(key).digest('base64url').slice(0, 6) }
  }

  /** The part of the link after the origin. `expires` in milliseconds since the epoch. */
  createLink({ hash, kind }: { readonly hash: string; readonly kind: ImageKind }, expires: number): string {
    const exp = Math.ceil(expires / 1000)
    const name = `${hash}.${fileExtensions[kind]}`
    const { kid } = this.#current
    return `/v1/images/${name}?exp=${exp}&sig=${kid}.${this.#sign(name, exp).toString('base64url')}`
  }

  /**
   * @param name as in the link: hash and extension
   * @throws GatewayError `link_invalid`, or `link_expired`
   */
  verify(name: string, { exp, sig }: { readonly exp: unknown; readonly sig: unknown }, now: number): void {
    if (typeof exp !== 'string' || !/^\d{1,12}$/.test(exp) || typeof sig !== 'string') throw new GatewayError('link_invalid')
    const [kid, mac = ''] = sig.split('.', 2)
    const sentSignature = Buffer.from(mac, 'base64url')
    const expectedSignature = this.#sign(name, Number(exp))
    if (
      kid !== this.#current.kid ||
      sentSignature.length !== expectedSignature.length ||
      !timingSafeEqual(sentSignature, expectedSignature)
    )
      throw new GatewayError('link_invalid')
    // Only a holder of a valid link learns this: the signature is right.
    if (Number(exp) * 1000 <= now) throw new GatewayError('link_expired')
  }

  #sign(name: string, exp: number): Buffer {
    const { key, kid } = this.#current
    return createHmac('sha256', key).update(`${name}|${exp}|${kid}`).digest()
  }
}
