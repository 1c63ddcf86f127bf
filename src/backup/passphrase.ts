/** The passphrase of `backup.passphraseFile`. */
import { readFileSync } from 'node:fs'
import { OperatorError, describeSystemError } from '../system/operator-error.ts'

const minChars = 16

/** @throws OperatorError */
export function readPassphrase(file: string): string {
  const text = ((): string => {
    try {
      return readFileSync(file, 'utf8')
    } catch (error) {
      throw new OperatorError(`The passphrase file ${file} cannot be read: ${describeSystemError(error)}.`, { cause: error })
    }
  })()
  const passphrase = text.replace(/\r?\n$/, '')
  if (passphrase.length < minChars || /[\r\n]/.test(passphrase))
    throw new OperatorError(
      `The passphrase file ${file} must have one line of at least ${minChars} characters; make one with: openssl rand -base64 32`,
    )
  return passphrase
}
