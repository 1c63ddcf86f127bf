/** Refusals of the membership services as errors: the same for the API and for the forms of pages. */
import { GatewayError, invalidRequest } from '../errors.ts'

export function createTooManyKeysError(max: number): GatewayError {
  return invalidRequest({
    en: `an account may have ${max} live keys; revoke one first.`,
    zh: `每个账户最多 ${max} 个有效密钥，请先撤销一个。`,
  })
}
