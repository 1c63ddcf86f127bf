/** What members are written. The words and the way are the mail room's. */

export interface MemberMail {
  /** Returns at once: how long sending takes, or whether it works, must not tell a stranger anything. */
  code(to: string, code: string): void
  deviceSignedIn(to: string, device: { readonly client: string; readonly hostname: string | null; readonly at: number }): void
  passwordChanged(to: string, at: number): void
}
