/** Renders an exceeded attempt limit as `rate_limited`. */
import { GatewayError } from '../../errors.ts'
import { LastOwnerError } from '../../domain/identity/operators/operator.ts'
import { TooManyAttempts } from '../../domain/identity/limits/attempt-limits.ts'

/** Converts what services throw on purpose to a GatewayError; returns everything else unchanged. */
export function toGatewayError(thrown: unknown): unknown {
  if (thrown instanceof LastOwnerError) return new GatewayError('conflict', { message: lastOwnerMessage, cause: thrown })
  return thrown instanceof TooManyAttempts ? createTooManyAttemptsError(thrown) : thrown
}

const lastOwnerMessage = {
  en: 'This account is the last owner. Give another account the role first.',
  zh: '该账户是最后一位所有者，请先将该角色授予其他账户。',
}

function createTooManyAttemptsError({ retryAfterMs, alternative }: TooManyAttempts): GatewayError {
  const retryAfter = Math.ceil(retryAfterMs / 1000)
  const { en, zh } = alternatives[alternative ?? 'nothing']
  return new GatewayError('rate_limited', {
    retryAfter,
    shouldRetry: false,
    actions: ['retry_later'],
    message: {
      en: `Too many attempts. Please try again in ${retryAfter} seconds${en}.`,
      zh: `尝试次数过多，请在 ${retryAfter} 秒后重试${zh}。`,
    },
  })
}

/** Other ways to sign in at once. */
const alternatives = {
  nothing: { en: '', zh: '' },
  email: { en: ', or sign in by email', zh: '，或使用邮件登录' },
  magic_link: {
    en: '. An email sent before may have arrived: its link signs you in',
    zh: '。之前发送的邮件可能已经送达：打开其中的链接即可登录',
  },
} as const
