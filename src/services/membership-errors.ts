/** Refusals of the membership services as errors: the same for the API and for the forms of pages. */
import { passwordLengthBounds } from '../domain/identity/passwords/password.ts'
import type { SignUpRefusal } from '../domain/identity/sign-up-rules.ts'
import type { SignInCodeResult, SignInResult } from '../domain/services/sign-in/sign-in-service.ts'
import type { CodeRefusal } from '../domain/billing/redeem-code.ts'
import type { CodeAnswer, CodeOutcome } from '../domain/services/redeem-code-service.ts'
import { GatewayError, invalidRequest } from '../errors.ts'
import type { Services } from './services.ts'

export function createTooManyKeysError(max: number): GatewayError {
  return invalidRequest({
    en: `an account may have ${max} live keys; revoke one first.`,
    zh: `每个账户最多 ${max} 个有效密钥，请先撤销一个。`,
  })
}

export function createBoostUnavailableError(action: 'checkin' | 'rush_grab'): GatewayError {
  return new GatewayError('boost_unavailable', {
    message:
      action === 'checkin'
        ? { en: 'You have checked in today. Come back tomorrow.', zh: '今天已签到，请明天再来。' }
        : { en: 'No rush pack is available to you right now.', zh: '当前没有可领取的抢购加油包。' },
  })
}

/** The queue is full, or its database is not available: no email was queued for this address, whether or not it has an account. */
export function createMailUnavailableError(retryAfterMs: number): GatewayError {
  const retryAfter = Math.ceil(retryAfterMs / 1000)
  return new GatewayError('temporarily_unavailable', {
    retryAfter,
    message: {
      en: `Emails cannot be sent at the moment. Try again in ${retryAfter} seconds.`,
      zh: `暂时无法发送邮件，请在 ${retryAfter} 秒后重试。`,
    },
  })
}

/** `param`: the field of the evidence that was wrong. */
export function createReauthenticationError(why: 'wrong' | 'missing', param?: string): GatewayError {
  const details = param === undefined ? {} : { param }
  return new GatewayError(why === 'missing' ? 'reauthentication_required' : 'invalid_credentials', details)
}

export function createUnchangedAddressError(): GatewayError {
  return invalidRequest({ en: 'The account has this address already.', zh: '账户当前就是此邮箱。' }, 'email')
}

export function createInvalidAddressError(why: 'malformed' | 'blocked'): GatewayError {
  return why === 'malformed'
    ? invalidRequest({ en: "'email' is not an email address.", zh: "'email' 不是有效的邮箱地址。" }, 'email')
    : new GatewayError('invalid_request', {
        param: 'email',
        message: {
          en: 'Addresses of this email provider cannot sign up here. Please use another one.',
          zh: '此邮箱服务商的地址无法在此注册，请换用其他邮箱。',
        },
      })
}

export function createInvalidPasswordError(why: 'short' | 'long' | 'common'): GatewayError {
  const { min, max } = passwordLengthBounds
  const message = {
    short: {
      en: `The password is too short: at least ${min} characters; 15 or more are better.`,
      zh: `密码太短：至少 ${min} 个字符，建议 15 个以上。`,
    },
    long: { en: `The password is too long: at most ${max} characters.`, zh: `密码太长：最多 ${max} 个字符。` },
    common: {
      en: 'This password is too common. Please choose another one.',
      zh: '此密码过于常见，请换一个。',
    },
  }[why]
  return new GatewayError('invalid_request', { param: 'password', message })
}

/** One error for codes that are unknown, expired, used or another account's, so that they cannot be told apart. */
export function createUnknownCodeError(): GatewayError {
  return new GatewayError('not_found', {
    param: 'user_code',
    message: {
      en: 'This code is unknown, has expired, or has been used. Start again on the device.',
      zh: '此代码无效、已过期或已使用，请在设备上重新开始。',
    },
  })
}

type SignInConfig = Pick<Services['config']['signIn'], 'allowedDomains'>

/** Why no code was sent. */
export function createCodeRequestError(
  result: Exclude<SignInCodeResult, { readonly kind: 'sent' }>,
  config: SignInConfig,
): GatewayError {
  if (result.kind === 'address') return createInvalidAddressError(result.reason)
  if (result.kind === 'password') return createInvalidPasswordError(result.reason)
  if (result.kind === 'no-sign-up') return createSignUpRefusedError(result.reason, config)
  return result.kind === 'mail_unavailable'
    ? createMailUnavailableError(result.retryAfterMs)
    : createNewAddressesPausedError(result.retryAfterMs)
}

/** Why a sign-in was refused. */
export function createSignInError(
  result: Exclude<SignInResult, { readonly kind: 'signed-in' }>,
  config: SignInConfig,
): GatewayError {
  if (result.kind === 'deletion_waiting') return new GatewayError('account_deletion_waiting')
  return result.kind === 'wrong' ? new GatewayError('invalid_credentials') : createSignUpRefusedError(result.reason, config)
}

/** The same for every address, so that it does not reveal which addresses have accounts. */
function createNewAddressesPausedError(retryAfterMs: number): GatewayError {
  const retryAfter = Math.ceil(retryAfterMs / 1000)
  const minutes = Math.ceil(retryAfter / 60)
  return new GatewayError('temporarily_unavailable', {
    retryAfter,
    shouldRetry: false,
    message: {
      en: `Too many new addresses requested emails. If this address has an account, its email was sent: open the link in it. A new address can try again in ${minutes} minutes.`,
      zh: `新邮箱的请求过多。如果该邮箱已有账户，邮件已发送，请打开其中的链接登录；新邮箱请在 ${minutes} 分钟后重试。`,
    },
  })
}

export function createExpiredLinkError(param?: string): GatewayError {
  return new GatewayError('invalid_credentials', {
    ...(param === undefined ? {} : { param }),
    message: {
      en: 'This link has been used or has expired. Request a new email.',
      zh: '此链接已使用或已过期，请重新获取邮件。',
    },
  })
}

function createSignUpRefusedError(why: SignUpRefusal, { allowedDomains }: SignInConfig): GatewayError {
  const domains = allowedDomains.join(', ')
  if (why === 'closed') return new GatewayError('sign_up_closed')
  return new GatewayError('sign_up_closed', {
    message:
      why === 'uninvited'
        ? { en: 'Signing up requires an invitation from a member.', zh: '注册需要现有会员的邀请。' }
        : { en: `Signing up requires an email address at: ${domains}.`, zh: `仅限以下域名的邮箱注册：${domains}。` },
  })
}
/** @throws GatewayError at the field `code` where the code gives nothing */
export function requireCodeOutcome(answer: CodeAnswer): CodeOutcome {
  if (answer.kind === 'good') return answer.outcome
  throw createCodeError(answer.kind === 'refused' ? answer.reason : answer.kind)
}

/** Distinguishes a typing error from a wrong code. */
function createCodeError(reason: CodeRefusal | 'malformed' | 'mistyped'): GatewayError {
  const message = codeRefusals[reason]
  return reason === 'malformed' || reason === 'mistyped'
    ? new GatewayError('invalid_request', { param: 'code', message })
    : new GatewayError('code_unusable', { param: 'code', message })
}

const codeRefusals = {
  malformed: {
    en: 'A code has twenty letters and digits, such as 4F7QK-9B2MD-….',
    zh: '兑换码由 20 个字母和数字组成，例如 4F7QK-9B2MD-…。',
  },
  mistyped: {
    en: 'There is a typing error in this code: one character is wrong, or two have changed places.',
    zh: '兑换码输入有误：某个字符不正确，或有两个字符顺序颠倒。',
  },
  unknown: { en: 'There is no such code.', zh: '没有这个兑换码。' },
  revoked: { en: 'This code has been revoked by the operator.', zh: '该兑换码已被管理员作废。' },
  expired: { en: 'This code has expired.', zh: '该兑换码已过期。' },
  used_up: { en: 'This code has been redeemed already.', zh: '该兑换码已被兑换。' },
  redeemed_before: {
    en: 'Your account has redeemed this code already; nothing is redeemed twice.',
    zh: '你的账户已兑换过该兑换码，不会重复兑换。',
  },
  never_begins: {
    en: 'Your plan gives as much already and has no end, so this code would give you nothing. It stays good.',
    zh: '你当前的套餐不低于该兑换码且没有到期时间，兑换不会带来任何权益。该兑换码仍然有效。',
  },
} as const satisfies Readonly<Record<CodeRefusal | 'malformed' | 'mistyped', { readonly en: string; readonly zh: string }>>
