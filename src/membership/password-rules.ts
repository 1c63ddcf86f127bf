/** Which passwords are taken: 8 to 128 characters (code points), no rules about kinds of letters, none that everybody tries first. */
import { isCommonPassword } from './common-passwords.ts'

export const passwordLength = { min: 8, max: 128 } as const

export type PasswordVerdict = 'good' | 'short' | 'long' | 'common'

/** `address` is the account's: it and its parts are what is tried next after the common ones. */
export function judgePassword(password: string, address: string): PasswordVerdict {
  // Counted only as far as needed: the length of something huge is of no interest.
  if (password.length > passwordLength.max * 2) return 'long'
  const { length } = [...password]
  if (length < passwordLength.min) return 'short'
  if (length > passwordLength.max) return 'long'
  const plain = password.toLowerCase()
  const local = address.slice(0, address.lastIndexOf('@'))
  if (isCommonPassword(password) || plain === address || plain === local || new Set(plain).size < 3) return 'common'
  return 'good'
}
