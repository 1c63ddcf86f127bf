/** Members' mail, worded and posted. */
import type { MemberMail } from '../../membership/member-mail.ts'
import type { MailRoom } from './mail-room.ts'
import { deviceMessage, letterMessage, passwordMessage, proofMessage } from './messages.ts'
import type { Sender } from './messages.ts'

export interface Letterhead {
  readonly brand: string
  /** Read when a letter is written: before the server listens nobody knows where it is. */
  readonly origins: { readonly site: string }
}

export function memberMail(room: Pick<MailRoom, 'post'>, { brand, origins }: Letterhead): MemberMail {
  const sender = (): Sender => ({ name: brand, site: origins.site })
  return {
    code: (to, { code, link }) => room.post({ to, ...letterMessage(sender(), code, link) }),
    proof: (to, code) => room.post({ to, ...proofMessage(sender(), code) }),
    deviceSignedIn: (to, device) => room.post({ to, ...deviceMessage(sender(), device) }),
    passwordChanged: (to, at) => room.post({ to, ...passwordMessage(sender(), at) }),
  }
}
