/** What is asked about a request on its way, and answered beforehand where it is large. */
import type { Words } from '../../errors.ts'
import type { Printed } from './printed.ts'

/** The answers to all that is asked about a request on its way, where it is large (`worked-out.ts`). */
export interface WorkedOut {
  readonly fields: Readonly<Record<string, unknown>>
  readonly messages: { readonly developer: Printed; readonly system: Printed }
  readonly count: PromptCount
  readonly hash: string
  readonly hasImages: boolean
  readonly faults: Faults
  /** The last message of the role `user`, without what it shows; undefined where there is none, null where it is too long itself. */
  readonly lastUser: unknown
}

/** What is counted of a prompt before anybody says what a picture costs. */
export interface PromptCount {
  images: number
  imageBytes: number
  /** Tokens at most, without pictures. */
  most: number
  /** Parts that cost as much as a picture does, pictures among them. */
  pictures: number
}

/** What chooses or buys in a request. */
export interface Faults {
  /** Fields of the body by name. */
  readonly fields: readonly string[]
  readonly tool: Fault | null
  readonly part: Fault | null
}

export interface Fault {
  readonly detail: Words
  readonly at: string
}
