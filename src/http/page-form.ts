/** Receives the forms of pages: checks their origin and id, runs their action, and draws a refused form again. */
import type { Context } from 'koa'
import { parseTimeZone } from '../domain/identity/reader.ts'
import { GatewayError, invalidRequest } from '../errors.ts'
import { toFailure } from '../exchange/exchange.ts'
import { requireMember } from '../pages/page.ts'
import type { Page, PageContext, PageForms, PageRedirect, SubmittedForm, View } from '../pages/page.ts'
import type { Services } from '../services/services.ts'
import { toBodyReadOptions } from './endpoint-handler.ts'
import { admitOperator, guardActions } from './operator-page.ts'
import { readForm } from './request/read-body.ts'
import { isSameOrigin } from './request/origin.ts'
import { toGatewayError } from './response/attempt-limit-error.ts'

/**
 * Only a browser that proves that one of our own pages sent the form passes. Checked before any lookup, so that another site cannot find out
 * whether its visitor is signed in here.
 */
export function requireFormOrigin(ctx: Context, { origins }: Pick<Services, 'origins'>): void {
  ctx.vary('Sec-Fetch-Site')
  ctx.vary('Origin')
  if (!isSameOrigin(ctx.req.headers, origins.site)) throw new GatewayError('forbidden_origin')
}

/** @throws GatewayError `internal_error`, and what is wrong with the request as a whole */
export async function submitForm(ctx: Context, page: Page, context: PageContext): Promise<View | PageRedirect> {
  const fields = await readForm(ctx.req, toBodyReadOptions(ctx, context.services))
  const form = { action: fields.get('action') ?? '', subject: fields.get('subject') ?? '', fields }
  if (page.audience === 'members') return runAction(page, page, requireMember(context), form)
  if (page.audience === 'operators') {
    // The form takes as long as its sender wants, and the role may be gone since.
    const operator = await admitOperator(context, page.access)
    if (operator === null) throw new GatewayError('sign_in_required')
    return runAction(page, { actions: guardActions(page.actions ?? {}) }, { ...context, operator }, form)
  }
  return runAction(page, page, context, form)
}

async function runAction<Own extends PageContext>(
  { path, view, notices }: Page,
  { actions = {}, repeats = {} }: PageForms<Own>,
  context: Own,
  form: SubmittedForm,
): Promise<View | PageRedirect> {
  const { fields } = form
  const account = context.viewer?.id ?? null
  const { formIds } = context.services.membership
  const action = getOwn(actions, form.action)
  const repeat = getOwn(repeats, form.action)
  if (action === undefined) throw invalidRequest({ en: 'this page has no such form.', zh: '此页面没有该表单。' })
  const refuse = async (failure: GatewayError): Promise<View> => ({
    ...(await view({ ...context, redrawn: { ...form, failure } })),
    status: failure.status,
  })
  const id = fields.get('form') ?? ''
  const use = `${path} ${form.action} ${form.subject}`
  try {
    // A form that may act again is not stored.
    const isFree = action === repeat && formIds.isValid(id, account)
    const result = isFree ? 'redeemed' : await formIds.redeem(id, account, use)
    if (result === 'expired') return await refuse(createExpiredFormError())
    // Not an error: the form has been received, by the first press of a double click or before a reload.
    if (result === 'used') {
      if (repeat !== undefined) return await repeat(withTimeZone(context, form), form)
      const { [`${form.action}_again`]: notice = context.t.common.sentBefore } = notices?.(context.t) ?? {}
      return { ...(await view(context)), notice }
    }
  } catch (thrown) {
    return refuse(toRefusal(thrown))
  }
  try {
    return await action(withTimeZone(context, form), form)
  } catch (thrown) {
    // After a fault of ours it is unknown what was done, so the form stays used.
    const refusal = toRefusal(thrown)
    if (action !== repeat) await formIds.release(id, use)
    return refuse(refusal)
  }
}

/** A fault of ours has a page of its own, with the reference to report. */
function toRefusal(thrown: unknown): GatewayError {
  const failure = toFailure(toGatewayError(thrown))
  if (failure.code === 'internal_error' || failure.code === 'sign_in_required') throw failure
  return failure
}

/** Emails about an action have the times of its reader, which a script adds to each form. */
function withTimeZone<Own extends PageContext>(context: Own, { fields }: SubmittedForm): Own {
  const { member, browser, language } = context
  const reader = { language, timeZone: parseTimeZone(fields.get('time_zone') ?? '') }
  const client = { ...browser.client, reader }
  return { ...context, browser: { ...browser, client }, member: member && { ...member, client } }
}

function getOwn<Value>(record: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined
}

function createExpiredFormError(): GatewayError {
  return new GatewayError('invalid_request', {
    message: {
      en: 'This page was open for a long time, or another account has signed in. Nothing was changed; send the form again.',
      zh: '此页面打开时间过长，或已登录其他账户。尚未做任何更改，请重新提交。',
    },
  })
}
