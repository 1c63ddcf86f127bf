/** What members are written. The words and the way are the mail room's. */
import type { LetterSecrets } from './letters.ts'

export interface MemberMail {
  /** Returns at once: how long sending takes, or whether it works, must not tell a stranger anything. */
  code(to: string, secrets: LetterSecrets): void
  /** The code that confirms a change; null where it has been guessed too often in the last hour. */
  proof(to: string, code: string | null): void
  deviceSignedIn(to: string, device: { readonly client: string; readonly hostname: string | null; readonly at: number }): void
  passwordChanged(to: string, at: number): void
}
