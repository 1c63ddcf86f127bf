/** Client facts that are available before authentication: IP, network, request id, user agent, device cookie. */
import type { Reader } from './reader.ts'

export interface ClientInfo {
  /** The complete address. Limits count its prefix; only a masked form is stored. */
  readonly ip: string
  /** The address prefix by which limits count. */
  readonly network: string
  /** `mbr_…` */
  readonly requestId: string
  /** The name by which the person would recognise the browser or program. */
  readonly name: string | null
  /** The browser's known-device tokens (`known-device.ts`). */
  readonly deviceTokens: string | null
  /** How the person reads, as far as the request shows it. */
  readonly reader: Reader
  /** The token of the session that a sign-in opens, where a repeat of the request must open the same one; random by default. */
  readonly sessionToken?: string
}
