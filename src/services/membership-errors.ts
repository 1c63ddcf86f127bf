/** Refusals of the membership services as errors: the same for the API and for the forms of pages. */
import { passwordLengthBounds } from '../domain/identity/passwords/password.ts'
import { GatewayError, invalidRequest } from '../errors.ts'

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
