/** `/operator`: sets up and asks for the second factor; to an operator who is signed in, it is the console's first page. */
import { stepUpMs } from '../../../../domain/identity/operators/operator-actor.ts'
import type { PasskeyPurpose } from '../../../../domain/identity/operators/passkeys.ts'
import type { Operator } from '../../../../domain/identity/operators/operator.ts'
import type { SecondFactorMethod } from '../../../../domain/services/operators/second-factor-service.ts'
import { GatewayError } from '../../../../errors.ts'
import { createCardView } from '../../../components/card-page.ts'
import {
  createProofError,
  readConsoleCode,
  renderConsoleProof,
  requireConsoleProof,
} from '../../../components/forms/console-proof.ts'
import { createFieldError } from '../../../components/forms/fields.ts'
import { PageForm } from '../../../components/forms/form.ts'
import { renderFacts } from '../../../components/list.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import { requireMember } from '../../../page.ts'
import type { MemberContext, PageActions, PageContext, PageRedirect, SubmittedForm, View } from '../../../page.ts'
import { toSafeReturnPath } from '../../../return-path.ts'
import { renderSignOutForm } from '../../sign-in/sign-out.ts'
import { drawRecoveryCodes } from './recovery-codes.ts'
import { renderQrCode } from './qr-code.ts'
import { createNowView } from '../now/now.ts'

const path = '/operator'
/** Setting up the first factor needs a sign-in of the last ten minutes: a stolen cookie must not become an operator. */
const freshSignInMs = stepUpMs

export const consoleActions: PageActions<PageContext> = {
  begin,
  confirm,
  verify: (context, form) => verify(context, form, false),
}

/** The answer to the first press of a double click is lost, and with it the cookie. */
export const consoleRepeats: PageActions<PageContext> = {
  verify: (context, form) => verify(context, form, true),
}

/** Before a role exists or a link was made there is no console. */
export async function requireConsole({ services }: PageContext): Promise<void> {
  if (!(await services.membership.consoleSessions.isOpen())) throw new GatewayError('not_found')
}

export async function createConsoleView(context: PageContext): Promise<View> {
  await requireConsole(context)
  if (context.operator !== null) return createNowView(context)
  const { t, viewer, services } = context
  if (viewer === null)
    return draw(
      context,
      html`<p class="sub">${t.operator.signInFirst}</p>
        ${renderSignInLink(context)}`,
    )
  const member = requireMember(context)
  await requireRole(member)
  const { passkeys, secondFactors } = services.membership
  const state = await secondFactors.findState(viewer.id)
  if (state === 'confirmed') {
    const purpose = (await passkeys.isOffered(viewer.id)) ? 'sign_in' : null
    return drawCodeForm(context, { action: 'verify', purpose })
  }
  if (!(await isFreshSignIn(member))) return drawSignInAgain(context)
  const setup = state === 'pending' ? await secondFactors.findPending(viewer.id, toLabel(member)) : undefined
  if (setup === undefined) return drawBegin(context)
  return drawCodeForm(
    context,
    { action: 'confirm', purpose: null },
    html`<p class="sub">${t.operator.setUpLead}</p>
      ${renderQrCode(setup.uri, t.operator.picture)}
      ${renderFacts([[t.operator.setUpKey, html`<code>${setup.key.match(/.{1,4}/g)?.join(' ')}</code>`]])}`,
  )
}

async function begin(context: PageContext): Promise<PageRedirect> {
  const member = await requireOperator(context)
  if (await isFreshSignIn(member)) await context.services.membership.secondFactors.begin(member.viewer.id, toLabel(member))
  return { path: getPath(context) }
}

async function confirm(context: PageContext, form: SubmittedForm): Promise<View> {
  const member = await requireOperator(context)
  const { secondFactors } = context.services.membership
  const code = readCode(form)
  if (!(await isFreshSignIn(member))) return drawSignInAgain(context)
  const codes = await secondFactors.confirm(member.viewer.id, code, context.browser.client)
  if (codes === undefined) throw createProofError('code')
  await openSession(member, form, 'code', code)
  return drawRecoveryCodes(context, codes, getNext(context))
}

async function verify(context: PageContext, form: SubmittedForm, isRepeat: boolean): Promise<PageRedirect> {
  const member = await requireOperator(context)
  const { secondFactors } = context.services.membership
  const proof = requireConsoleProof(form)
  const proofText = proof.kind === 'code' ? proof.code : proof.answer
  if (isRepeat) {
    context.browser.setConsoleToken(deriveToken(member, form, proofText))
    return { path: getNext(context) }
  }
  const place = { session: member.member.id, purpose: 'sign_in' } as const
  const result = await secondFactors.verify(member.viewer.id, proof, place, context.browser.client)
  if (result.kind === 'refused') throw createProofError(result.why)
  await openSession(member, form, result.method, proofText)
  return { path: getNext(context), done: 'verified' }
}

async function openSession(member: MemberContext, form: SubmittedForm, method: SecondFactorMethod, code: string): Promise<void> {
  const { services, browser, viewer } = member
  const token = deriveToken(member, form, code)
  await services.membership.consoleSessions.open({ account: viewer.id, session: member.member.id, token }, method, browser.client)
  browser.setConsoleToken(token)
}

function deriveToken({ services, member }: MemberContext, { fields }: SubmittedForm, code: string): string {
  return services.membership.formIds.deriveToken(fields.get('form') ?? '', 'console', member.id, code)
}

async function requireOperator(context: PageContext): Promise<MemberContext> {
  if (context.viewer === null) throw new GatewayError('sign_in_required')
  const member = requireMember(context)
  await requireRole(member)
  return member
}

/** For members without a role there is no console. */
async function requireRole({ services, viewer }: MemberContext): Promise<Operator> {
  const operator = await services.store.operators.find(viewer.id, services.clock.now())
  if (operator === undefined) throw new GatewayError('not_found')
  return operator
}

async function isFreshSignIn({ services, member }: MemberContext): Promise<boolean> {
  const age = services.clock.now() - (await member.findSession()).createdAt
  return age >= 0 && age <= freshSignInMs
}

function toLabel({ viewer }: MemberContext): string {
  return viewer.email ?? viewer.id
}

function readCode(form: SubmittedForm): string {
  const code = readConsoleCode(form)
  if (code === null) throw createFieldError('code', 'missing')
  return code
}

/** The page of the console that was wanted; anyone can write it into the address. */
function getNext({ query }: PageContext): string {
  const next = toSafeReturnPath(query.get('next'), path)
  return next.startsWith(`${path}/`) ? next : path
}

/** The address of this page that leads on to the same one. */
function getPath(context: PageContext): string {
  const next = getNext(context)
  return next === path ? path : `${path}?${new URLSearchParams({ next })}`
}

function draw({ t }: PageContext, content: Html, title = t.operator.title): View {
  return createCardView({ title, content, look: 'device' })
}

function renderSignInLink(context: PageContext): Html {
  const address = `/sign-in?${new URLSearchParams({ next: getPath(context) })}`
  return html`<p><a class="button block" href="${address}">${context.t.frame.signIn}</a></p>`
}

function drawSignInAgain(context: PageContext): View {
  const { t } = context
  const button = html`<button class="button block" data-sign-out>${t.frame.signOut}</button>`
  return draw(
    context,
    html`<p class="sub">${t.operator.signInAgain}</p>
      ${renderSignOutForm(context, button)}`,
  )
}

function drawBegin(context: PageContext): View {
  const { operator } = context.t
  const form = new PageForm(context, 'begin').render({
    path: getPath(context),
    content: html`<div class="form-end"><button class="button block">${operator.setUp}</button></div>`,
  })
  return draw(
    context,
    html`<p class="sub">${operator.beginLead}</p>
      ${form}`,
  )
}

interface CodeForm {
  readonly action: 'confirm' | 'verify'
  /** Null: no passkey is offered. */
  readonly purpose: PasskeyPurpose | null
}

function drawCodeForm(context: PageContext, code: CodeForm, before?: Html): View {
  const { operator } = context.t
  return draw(
    context,
    html`${before} ${renderCodeForm(context, code)}`,
    code.action === 'confirm' ? operator.setUp : operator.title,
  )
}

function renderCodeForm(context: PageContext, { action, purpose }: CodeForm): Html {
  const { operator } = context.t
  const form = new PageForm(context, action)
  return form.render({
    path: getPath(context),
    content: html`${renderConsoleProof(context, form, { purpose, hint: action === 'verify' ? operator.codeHint : operator.confirmHint })}
      <div class="form-end"><button class="button block">${operator.verify}</button></div>`,
  })
}
