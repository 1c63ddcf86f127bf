/** `/account/security`: the address, the password, and the deletion of the account; all need more than a session. */
import { findLongestKeepDays } from '../../../backup/thin-backups.ts'
import { GatewayError } from '../../../errors.ts'
import {
  createInvalidPasswordError,
  createMailUnavailableError,
  createReauthenticationError,
  createUnchangedAddressError,
} from '../../../services/membership-errors.ts'
import { mailRetryAfterMs } from '../../../domain/services/sign-in/sign-in-service.ts'
import { parseEmailCode } from '../../pasted-code.ts'
import { renderDialog, renderDialogEnd } from '../../components/dialog.ts'
import {
  createAddressError,
  createFieldError,
  maxCodeChars,
  maxEmailChars,
  readEmailCode,
  readNewPassword,
  readPassword,
  readText,
} from '../../components/forms/fields.ts'
import { PageForm } from '../../components/forms/form.ts'
import { html } from '../../html.ts'
import type { Html } from '../../html.ts'
import { interpolate, requireMember } from '../../page.ts'
import type { MemberContext, PageAction, PageContext, SubmittedForm, View } from '../../page.ts'
import { createMemberView } from './member-frame.ts'

const path = '/account/security'
/** The button that sends a code instead of the form. */
const sendCode = 'send_code'

/** What proves that the member is at the keyboard: nothing after a fresh sign-in. */
type RequiredEvidence = 'none' | 'password' | 'code'

interface Evidence {
  readonly currentPassword: string | null
  readonly code: string | null
}

export async function createSecurityView(context: PageContext): Promise<View> {
  return drawSecurity(requireMember(context))
}

export const securityActions: Readonly<Record<string, PageAction>> = {
  email: withEvidence(async (context, form, evidence) => {
    const { services, member } = context
    const email = readText(form, 'email', maxEmailChars)
    const { account } = services.membership
    const result = await account.requestEmailChange(await member.findSession(), evidence, email, member.client)
    if (result.kind === 'address') throw createAddressError(result.reason)
    if (result.kind === 'unchanged') throw createUnchangedAddressError()
    if (result.kind === 'mail_unavailable') throw createMailUnavailableError(mailRetryAfterMs)
    if (result.kind !== 'sent') throw createEvidenceError(result.kind, evidence)
    const pendingPage = { path: `${path}?pending=${encodeURIComponent(email)}` }
    return result.isDelayed ? { ...pendingPage, done: 'delayed' } : pendingPage
  }),

  async email_code({ services, member }, form) {
    const code = readEmailCode(form, 'code')
    const { account } = services.membership
    const result = await account.changeEmail(await member.findSession(), { email: form.subject, code }, member.client)
    if (result === 'wrong') throw new GatewayError('invalid_credentials', { param: 'code' })
    return { path, done: 'email_saved' }
  },

  password: withEvidence(async ({ services, member }, form, evidence) => {
    if (services.config.signIn.providersOnly) throw new GatewayError('sign_in_method_disabled')
    const password = readNewPassword(form, 'password')
    const { account } = services.membership
    const result = await account.changePassword(await member.findSession(), evidence, password, member.client)
    if (result.kind === 'password') throw createInvalidPasswordError(result.reason)
    if (result.kind !== 'changed') throw createEvidenceError(result.kind, evidence)
    member.setSessionToken(result.token)
    return { path, done: 'password_saved' }
  }),

  delete: withEvidence(async ({ services, viewer, member }, form, evidence) => {
    const confirmedEmail = readText(form, 'email', maxEmailChars).toLowerCase()
    if (confirmedEmail !== (viewer.email ?? viewer.id).toLowerCase()) throw createFieldError('email', 'otherAddress')
    const result = await services.membership.account.deleteAccount(await member.findSession(), evidence, member.client)
    if (result !== 'deleted' && result !== 'waiting') throw createEvidenceError(result, evidence)
    member.setSessionToken(null)
    return { path: result === 'deleted' ? '/' : '/sign-in?error=deletion_waiting' }
  }),
}

type EvidenceAction = (context: MemberContext, form: SubmittedForm, evidence: Evidence) => ReturnType<PageAction>

/** Where the evidence is a code that has not been sent, sends it and draws the form again with what was typed. */
function withEvidence(action: EvidenceAction): PageAction {
  return async (context, form) => {
    const { services, member } = context
    const typedCode = (form.fields.get('code') ?? '').trim()
    const evidence = { currentPassword: readPassword(form, 'current'), code: typedCode === '' ? null : parseEmailCode(typedCode) }
    const { account } = services.membership
    const session = await member.findSession()
    if (!form.fields.has(sendCode)) {
      const requiredEvidence = await account.findRequiredEvidence(session)
      if (requiredEvidence === 'none' || evidence.code !== null || evidence.currentPassword !== null)
        return action(context, form, evidence)
      if (requiredEvidence === 'password') throw createFieldError('current', 'missing')
    }
    const outcome = await account.requestReauthenticationCode(session, member.client)
    if (outcome === 'unavailable') throw createMailUnavailableError(mailRetryAfterMs)
    const { proofSent, proofDelayed } = context.t.account
    const view = await drawSecurity({ ...context, redrawn: { ...form, failure: null } }, form.action)
    return { ...view, notice: outcome === 'delayed' ? proofDelayed : proofSent }
  }
}

/** At the field that was not right. */
function createEvidenceError(why: 'wrong' | 'missing', { code }: Evidence): GatewayError {
  return createReauthenticationError(why, code === null ? 'current' : 'code')
}

/** `coded`: the action that waits for a code. */
async function drawSecurity(context: MemberContext, coded?: string): Promise<View> {
  const { account: texts } = context.t
  const { membership, config } = context.services
  const requiredEvidence = await membership.account.findRequiredEvidence(await context.member.findSession())
  const toRequired = (action: string): RequiredEvidence => (action === coded ? 'code' : requiredEvidence)
  return createMemberView(context, {
    title: texts.rail.security,
    lead: html`${texts.securityLead} <a href="/sessions">${texts.rail.sessions}</a>`,
    content: html`${renderEmailCard(context, toRequired('email'))}
    ${!config.signIn.providersOnly && renderPasswordCard(context, toRequired('password'))}
    ${renderDeleteCard(context, toRequired('delete'))}`,
  })
}

function renderEvidence({ t }: PageContext, form: PageForm, required: RequiredEvidence): Html {
  const { account: texts } = t
  const sender = (label: string): Html =>
    html`<p class="form-links"><button class="link-button" name="${sendCode}" value="1">${label}</button></p>`
  if (required === 'none') return html``
  // A refused code is typed again, where a password would do too.
  if (required === 'code' || form.getValue('code') !== '')
    return html`${renderCodeField(form, texts.proofCode)} ${sender(texts.proofSend)}`
  const attributes = html`autocomplete="current-password"`
  return html`${form.renderField({ name: 'current', label: texts.current, type: 'password', attributes })}
  ${sender(texts.proofInstead)}`
}

function renderCodeField(form: PageForm, label: string): Html {
  const attributes = html`class="code" inputmode="numeric" autocomplete="one-time-code" maxlength="${maxCodeChars}"`
  return form.renderField({ name: 'code', label, attributes })
}

/** Enter in a field presses the first button of its form. */
const defaultButton = html`<button hidden></button>`

/** `?offer=` is the address that the provider gave at the last sign-in; the member decides. `?pending=` has been sent a code. */
function renderEmailCard(context: MemberContext, required: RequiredEvidence): Html {
  const { t, query, viewer } = context
  const { account: texts } = t
  const form = new PageForm(context, 'email')
  const offeredEmail = readPlainAddress(query, 'offer')
  const pendingEmail = context.redrawn?.action === 'email_code' ? context.redrawn.subject : readPlainAddress(query, 'pending')
  const codeForm = new PageForm(context, 'email_code', pendingEmail)
  const attributes = html`inputmode="email" autocomplete="email" autocapitalize="none" spellcheck="false"
  maxlength="${maxEmailChars}" required`
  return html`<section class="card pad" aria-labelledby="title-email">
    <div class="card-head">
      <h2 id="title-email">${texts.emailTitle}</h2>
      <p>${texts.emailLead} ${interpolate(texts.emailNow, { email: viewer.email ?? '–' })}</p>
    </div>
    ${offeredEmail !== '' && html`<p class="notice">${interpolate(texts.emailOffered, { email: offeredEmail })}</p>`}
    ${
      pendingEmail !== '' &&
      codeForm.render({
        content: html`<p class="notice">${interpolate(texts.emailCodeSent, { email: pendingEmail })}</p>
          ${renderCodeField(codeForm, texts.proofCode)}
          <div class="form-end"><button class="button">${texts.saveEmail}</button></div>`,
      })
    }
    ${form.render({
      content: html`${defaultButton}
        ${form.renderField({ name: 'email', label: texts.newEmail, value: offeredEmail, attributes })}
        ${renderEvidence(context, form, required)}
        <div class="form-end"><button class="button">${texts.sendEmailCode}</button></div>`,
    })}
  </section>`
}

/** Anyone can link to this page, so nothing but an address is repeated on it. */
function readPlainAddress(query: URLSearchParams, name: string): string {
  const text = query.get(name) ?? ''
  return text.length <= maxEmailChars && /^[\w.+-]+@[\w.-]+$/.test(text) ? text : ''
}

function renderPasswordCard(context: MemberContext, required: RequiredEvidence): Html {
  const { t, viewer } = context
  const form = new PageForm(context, 'password')
  const attributes = html`autocomplete="new-password" minlength="8" required`
  return html`<section class="card pad" aria-labelledby="title-password">
    <div class="card-head">
      <h2 id="title-password">${t.account.passwordTitle}</h2>
      <p>${t.account.passwordLead}</p>
    </div>
    ${form.render({
      content: html`${defaultButton}
        <input type="text" name="username" autocomplete="username" value="${viewer.email ?? ''}" hidden />
        ${renderEvidence(context, form, required)}
        ${form.renderField({
          name: 'password',
          label: t.account.next,
          type: 'password',
          hint: t.signIn.passwordHint,
          attributes,
        })}
        <div class="form-end"><button class="button">${t.account.savePassword}</button></div>`,
    })}
  </section>`
}

function renderDeleteCard(context: MemberContext, required: RequiredEvidence): Html {
  const { t, services, viewer } = context
  const { backup } = services.config
  const days = backup === null ? null : findLongestKeepDays(backup.keep, backup.every)
  const lead = html`<p>
    ${t.account.deleteLead}${days !== null && ` ${interpolate(t.account.deleteBackups, { days: String(days) })}`}
  </p>`
  const form = new PageForm(context, 'delete')
  const label = interpolate(t.account.deleteConfirm, { email: viewer.email ?? viewer.id })
  const attributes = html`autocomplete="off" spellcheck="false" required`
  return html`<section class="card pad" aria-labelledby="title-delete">
    <div class="card-head">
      <h2 id="title-delete">${t.account.deleteTitle}</h2>
      ${lead}
    </div>
    ${renderDialog({
      id: 'delete-ask',
      opener: t.account.deleteButton,
      look: 'danger-quiet',
      title: t.account.deleteAsk,
      isOpen: form.isRedrawn,
      // What cannot be undone waits for its button: Enter in a field presses the first one, which is disabled.
      content: form.render({
        removesAccount: true,
        content: html`<button hidden disabled></button> ${lead} ${form.renderField({ name: 'email', label, attributes })}
          ${renderEvidence(context, form, required)} ${renderDialogEnd(context, t.account.deleteSure)}`,
      }),
    })}
  </section>`
}
