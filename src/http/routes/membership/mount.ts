/** Every membership route stands at two places and speaks JSON that nobody may keep. */
import type { Router } from '@koa/router'
import type { Context } from 'koa'
import { GatewayError } from '../../../errors.ts'
import { Busy } from '../../../membership/refusal.ts'

export const membershipPrefixes = ['/api/membership', '/api/membership/v1'] as const

type Method = 'get' | 'post' | 'delete'

/** The handler's value is the answer's body; `undefined` means that it has answered itself. */
export function mount(router: Router, method: Method, path: string, handler: (ctx: Context) => Promise<unknown>): void {
  for (const prefix of membershipPrefixes) {
    router[method](prefix + path, async (ctx) => {
      ctx.set('cache-control', 'no-store')
      const body = await handler(ctx).catch((error: unknown) => {
        throw error instanceof Busy ? tooMany(error) : error
      })
      if (body !== undefined) ctx.body = body
    })
  }
}

/** An id in the path. */
export function idOf(ctx: Context): string {
  return String((ctx as Context & { params: Record<string, string> }).params['id'] ?? '')
}

export function tooMany({ retryAfterMs, instead }: Busy): GatewayError {
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
