/** What members are written. The words and the way are the mail room's. */
import type { LetterSecrets } from './letters.ts'

/**
 * Each resolves when the letter is kept where it waits to be sent, and never rejects: how long sending takes, or whether it works, must not
 * tell a stranger anything.
 */
export interface MemberMail {
  /** `to` is null where nobody is written to, which takes as long. */
  code(to: string | null, secrets: LetterSecrets): Promise<void>
  /** The code that confirms a change; null where it has been guessed too often in the last hour. */
  proof(to: string, code: string | null): Promise<void>
  deviceSignedIn(
    to: string,
    device: { readonly client: string; readonly hostname: string | null; readonly at: number },
  ): Promise<void>
  passwordChanged(to: string, at: number): Promise<void>
}
