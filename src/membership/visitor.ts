/** Who is at the desk: what is known of a request before, and besides, whose account it is. */

export interface Visitor {
  /** The whole address; only its prefix is counted by, and only masked is it kept. */
  readonly address: string
  /** The address prefix that limits count by. */
  readonly network: string
  /** `mbr_…` */
  readonly requestId: string
  /** What the person would recognise the browser or program by. */
  readonly client: string | null
  /** What the browser keeps of accounts it has signed in to (`known-device.ts`). */
  readonly device: string | null
}
