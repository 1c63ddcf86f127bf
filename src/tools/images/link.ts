/** Signed, expiring links to images. Chat programs load an image without any header, so the link itself is the permission. */
import { createHash, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { GatewayError } from '../../errors.ts'
import type { ImageKind } from '../../membership/image.ts'
import { endings } from './sniff.ts'

/** A key, and the short name by which a signature tells which key it was made with. */
interface SigningKey {
  readonly kid: string
  readonly key: Buffer
}

export class ImageLinks {
  readonly #current: SigningKey

  /** @param secret the installation's own; a new one ends every link made before */
  constructor(secret: Buffer) {
    const key = Buffer.from(hkdfSync('sha256', secret, '', 'image links', 32))
    this.#current = { key, kid: createHash('sha256').update(key).digest('base64url').slice(0, 6) }
  }

  /** The part of the link after the origin. `expires` in milliseconds since the epoch. */
  to({ hash, kind }: { readonly hash: string; readonly kind: ImageKind }, expires: number): string {
    const exp = Math.ceil(expires / 1000)
    const name = `${hash}.${endings[kind]}`
    const { kid } = this.#current
    return `/v1/images/${name}?exp=${exp}&sig=${kid}.${this.#sign(name, exp).toString('base64url')}`
  }

  /**
   * @param name as in the link: hash and ending
   * @throws GatewayError `link_invalid`, or `link_expired`
   */
  check(name: string, { exp, sig }: { readonly exp: unknown; readonly sig: unknown }, now: number): void {
    if (typeof exp !== 'string' || !/^\d{1,12}$/.test(exp) || typeof sig !== 'string') throw new GatewayError('link_invalid')
    const [kid, mac = ''] = sig.split('.', 2)
    const sent = Buffer.from(mac, 'base64url')
    const made = this.#sign(name, Number(exp))
    if (kid !== this.#current.kid || sent.length !== made.length || !timingSafeEqual(sent, made))
      throw new GatewayError('link_invalid')
    // Told only to those who once had it: the signature is right.
    if (Number(exp) * 1000 <= now) throw new GatewayError('link_expired')
  }

  #sign(name: string, exp: number): Buffer {
    const { key, kid } = this.#current
    return createHmac('sha256', key).update(`${name}|${exp}|${kid}`).digest()
  }
}
