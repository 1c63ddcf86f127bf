/** What the forms of a member's page change, through the services that the operator API uses. */
import { parseEmail, anyEmailDomain } from '../../../../domain/identity/email/email-address.ts'
import type { Account } from '../../../../domain/identity/account.ts'
import { GatewayError } from '../../../../errors.ts'
import {
  adjustCredits,
  changeMemberEmail,
  givePlan,
  requireAccount,
  resendSignInEmail,
  revokeMemberKey,
  setMemberStatus,
  unlinkMemberProvider,
} from '../../../../services/member-administration.ts'
import { createFieldError, createErrorInWords, maxEmailChars, readOptional, readText } from '../../../components/forms/fields.ts'
import type { OperatorAction, OperatorContext, SubmittedForm } from '../../../page.ts'
import { readAuthor } from '../action-form.ts'
import { consoleSections } from '../sections.ts'

const maxPlanChars = 64
const maxCredits = 1e15

export const memberActions = {
  set_plan: {
    access: { scope: 'members:write' },
    async run(context, form) {
      const account = await findAccount(context)
      const plan = { plan: readText(form, 'plan', maxPlanChars), until: readDay(context, form, 'until') }
      const entitlementChange = await givePlan(account, plan, readAuthor(context, form), context.services)
      return { path: context.path, done: entitlementChange.plan === plan.plan ? 'plan_set' : 'plan_kept' }
    },
  },

  adjust: {
    access: { scope: 'money:write', needsStepUp: true },
    async run(context, form) {
      const account = await findAccount(context)
      const pool = form.fields.get('pool') === 'premium' ? 'premium' : 'fast'
      const author = readAuthor(context, form)
      const correction = {
        pool,
        credits: readCredits(form),
        expiresAt: readDay(context, form, 'expires_at'),
        reason: author.reason,
      } as const
      await adjustCredits(account, correction, author, context.services)
      return { path: context.path, done: 'adjusted' }
    },
  },

  disable: { access: { scope: 'members:write' }, run: (context, form) => setStatus(context, form, 'disabled') },
  enable: { access: { scope: 'members:write' }, run: (context, form) => setStatus(context, form, 'active') },

  end_sessions: {
    access: { scope: 'sessions:write' },
    async run(context, form) {
      const { id } = await findAccount(context)
      await context.services.membership.memberAdmin.endSessions(id, readAuthor(context, form))
      return { path: context.path, done: 'sessions_ended' }
    },
  },

  send_email: {
    access: { scope: 'sessions:write' },
    async run(context, form) {
      const { isDelayed } = await resendSignInEmail(await findAccount(context), readAuthor(context, form), context.services)
      return { path: context.path, done: isDelayed ? 'email_delayed' : 'email_sent' }
    },
  },

  change_email: {
    access: { scope: 'members:write', needsStepUp: true },
    async run(context, form) {
      const email = readText(form, 'email', maxEmailChars)
      if (parseEmail(email, anyEmailDomain).kind !== 'good') throw createFieldError('email', 'email')
      await changeMemberEmail(await findAccount(context), email, readAuthor(context, form), context.services)
      return { path: context.path, done: 'email_changed' }
    },
  },

  revoke_key: {
    access: { scope: 'members:write' },
    async run(context, form) {
      await revokeMemberKey(await findAccount(context), form.subject, readAuthor(context, form), context.services)
      return { path: context.path, done: 'key_revoked' }
    },
  },

  unlink: {
    access: { scope: 'members:write' },
    async run(context, form) {
      await unlinkMemberProvider(await findAccount(context), form.subject, readAuthor(context, form), context.services)
      return { path: context.path, done: 'unlinked' }
    },
  },
} as const satisfies Readonly<Record<string, OperatorAction>>

async function setStatus(context: OperatorContext, form: SubmittedForm, status: 'active' | 'disabled') {
  await setMemberStatus(await findAccount(context), status, readAuthor(context, form), context.services)
  return { path: context.path, done: status === 'active' ? 'enabled' : 'disabled' }
}

/** The member of the page's address. @throws GatewayError `not_found` */
export function findAccount({ path, services }: OperatorContext): Promise<Account> {
  const id = path.slice(consoleSections.members.path.length + 1)
  if (!/^acc_\w{1,40}$/.test(id)) throw new GatewayError('not_found')
  return requireAccount(id, services)
}

/** The beginning of a day of the operator's calendar; null if none was chosen. @throws GatewayError at the field */
function readDay({ services }: OperatorContext, form: SubmittedForm, name: string): number | null {
  const text = readOptional(form, name, 10)
  if (text === null) return null
  const day = /^\d{4}-\d\d-\d\d$/.test(text) ? services.calendar.getDayStart(text) : undefined
  if (day === undefined || day <= services.clock.now())
    throw createErrorInWords('invalid_request', name, (t) => t.console.member.futureDay)
  return day
}

/** Whole credits with an optional minus. @throws GatewayError at the field */
function readCredits(form: SubmittedForm): number {
  const text = readText(form, 'credits', 20)
    .replaceAll(/[\s,_]/g, '')
    .replace('−', '-')
  const credits = /^[+-]?\d{1,16}$/.test(text) ? Number(text) : 0
  if (credits === 0 || Math.abs(credits) > maxCredits)
    throw createErrorInWords('invalid_request', 'credits', (t) => t.console.member.wholeCredits)
  return credits
}
