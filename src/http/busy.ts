/** A desk that is asked too much, as its caller is told. */
import { GatewayError } from '../errors.ts'
import { Busy } from '../membership/refusal.ts'

/** What was thrown, in the catalogue's words where it was a desk's. */
export function asFailure(thrown: unknown): unknown {
  return thrown instanceof Busy ? tooMany(thrown) : thrown
}

function tooMany({ retryAfterMs, instead }: Busy): GatewayError {
  const retryAfter = Math.ceil(retryAfterMs / 1000)
  const { en, zh } = meanwhile[instead ?? 'nothing']
  return new GatewayError('rate_limited', {
    retryAfter,
    shouldRetry: false,
    actions: ['retry_later'],
    message: {
      en: `Too many attempts. Please try again in ${retryAfter} seconds${en}.`,
      zh: `尝试次数过多,请在 ${retryAfter} 秒后重试${zh}。`,
    },
  })
}

/** What else gets the person in at once. */
const meanwhile = {
  nothing: { en: '', zh: '' },
  letter: { en: ', or sign in by mail', zh: ',或使用邮件登录' },
  link: {
    en: '. A letter to this address may be there already: the link in it signs you in',
    zh: '。之前发送的邮件可能已经送达:打开其中的链接即可登录',
  },
} as const
