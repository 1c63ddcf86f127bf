/** Limits the open connections of one client address. Without it, one client could use up `limits.connections` of all. */
import type { BlockList, Socket } from 'node:net'
import { isInNetworks, normalizeAddress, toAddressPrefix } from '../request/client-ip.ts'

export class AddressConnectionLimit {
  readonly #max: number
  readonly #exempt: BlockList
  readonly #counts = new Map<string, number>()

  /** @param exempt proxies, which bring the connections of many clients */
  constructor(max: number, exempt: BlockList) {
    this.#max = max
    this.#exempt = exempt
  }

  /** Counts a connection until it closes. False if its address has too many; the caller destroys it. */
  admit(socket: Pick<Socket, 'remoteAddress' | 'once'>): boolean {
    const address = normalizeAddress(socket.remoteAddress ?? '')
    if (isInNetworks(address, this.#exempt)) return true
    const prefix = toAddressPrefix(address)
    const count = this.#counts.get(prefix) ?? 0
    if (count >= this.#max) return false
    this.#counts.set(prefix, count + 1)
    socket.once('close', () => this.#release(prefix))
    return true
  }

  #release(prefix: string): void {
    const count = this.#counts.get(prefix) ?? 0
    if (count <= 1) this.#counts.delete(prefix)
    else this.#counts.set(prefix, count - 1)
  }
}
