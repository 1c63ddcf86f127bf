/** `/operator`: sets up and asks for the second factor, and shows who is signed in to the console. */
import type { ConsoleActor } from '../../../domain/services/operators/console-session-service.ts'
import { isStepUpFresh, listScopes, stepUpMs } from '../../../domain/identity/operators/operator-actor.ts'
import type { Operator } from '../../../domain/identity/operators/operator.ts'
import type { SecondFactorMethod } from '../../../domain/services/operators/second-factor-service.ts'
import { GatewayError } from '../../../errors.ts'
import { createCardView } from '../../components/card-page.ts'
import { createErrorInWords, readText } from '../../components/fields.ts'
import { PageForm } from '../../components/form.ts'
import { renderFacts } from '../../components/list.ts'
import { renderTime } from '../../components/time.ts'
import { html } from '../../html.ts'
import type { Html } from '../../html.ts'
import { interpolate, requireMember } from '../../page.ts'
import type { MemberContext, PageActions, PageContext, PageRedirect, SubmittedForm, View } from '../../page.ts'
import { renderSignOutForm } from '../sign-out.ts'
import { renderQrCode } from './qr-code.ts'

const path = '/operator'
const maxTypedChars = 32
/** Setting up the first factor needs a sign-in of the last ten minutes: a stolen cookie must not become an operator. */
const freshSignInMs = stepUpMs

export const consoleActions: PageActions<PageContext> = {
  begin,
  confirm,
  verify: (context, form) => verify(context, form, false),
  renew_codes: renewCodes,
  close,
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
  const actor = await context.browser.findConsoleActor()
  if (actor !== undefined) return drawConsole(context, actor)
  const { t, viewer, services } = context
  if (viewer === null)
    return draw(
      context,
      html`<p class="sub">${t.operator.signInFirst}</p>
        ${renderSignInLink(context)}`,
    )
  const member = requireMember(context)
  await requireRole(member)
  const { secondFactors } = services.membership
  const state = await secondFactors.findState(viewer.id)
  if (state === 'confirmed') return drawCodeForm(context, 'verify')
  if (!(await isFreshSignIn(member))) return drawSignInAgain(context)
  const setup = state === 'pending' ? await secondFactors.findPending(viewer.id, toLabel(member)) : undefined
  if (setup === undefined) return drawBegin(context)
  return drawCodeForm(
    context,
    'confirm',
    html`<p class="sub">${t.operator.setUpLead}</p>
      ${renderQrCode(setup.uri, t.operator.picture)}
      ${renderFacts([[t.operator.setUpKey, html`<code>${setup.key.match(/.{1,4}/g)?.join(' ')}</code>`]])}`,
  )
}

async function begin(context: PageContext): Promise<PageRedirect> {
  const member = await requireOperator(context)
  if (await isFreshSignIn(member)) await context.services.membership.secondFactors.begin(member.viewer.id, toLabel(member))
  return { path }
}

async function confirm(context: PageContext, form: SubmittedForm): Promise<View> {
  const member = await requireOperator(context)
  const { secondFactors } = context.services.membership
  const code = readCode(form)
  if (!(await isFreshSignIn(member))) return drawSignInAgain(context)
  const codes = await secondFactors.confirm(member.viewer.id, code, context.browser.client)
  if (codes === undefined) throw createWrongCodeError()
  await openSession(member, form, 'code', code)
  return drawRecoveryCodes(context, codes)
}

async function verify(context: PageContext, form: SubmittedForm, isRepeat: boolean): Promise<PageRedirect> {
  const member = await requireOperator(context)
  const { consoleSessions, secondFactors } = context.services.membership
  const code = readCode(form)
  if (isRepeat) {
    context.browser.setConsoleToken(deriveToken(member, form, code))
    return { path }
  }
  const method = await secondFactors.verify(member.viewer.id, code, context.browser.client)
  if (method === undefined) throw createWrongCodeError()
  const actor = await context.browser.findConsoleActor()
  if (actor?.kind === 'session' && actor.account === member.viewer.id) await consoleSessions.stepUp(actor.session)
  else await openSession(member, form, method, code)
  return { path, done: 'verified' }
}

async function renewCodes(context: PageContext): Promise<View> {
  const member = await requireOperator(context)
  const actor = await context.browser.findConsoleActor()
  const { membership, clock } = context.services
  if (actor?.kind !== 'session' || actor.account !== member.viewer.id) throw new GatewayError('second_factor_required')
  if (!isStepUpFresh(actor, clock.now())) throw new GatewayError('step_up_required')
  return drawRecoveryCodes(context, await membership.secondFactors.renewRecoveryCodes(actor.account, context.browser.client))
}

async function close(context: PageContext): Promise<PageRedirect> {
  const actor = await context.browser.findConsoleActor()
  if (actor !== undefined) await context.services.membership.consoleSessions.end(actor, context.browser.client)
  context.browser.setConsoleToken(null)
  return { path: '/' }
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
  return readText(form, 'code', maxTypedChars).replaceAll(/\s/g, '')
}

function createWrongCodeError(): GatewayError {
  return createErrorInWords('invalid_credentials', 'code', (t) => t.operator.wrongCode)
}

function draw({ t }: PageContext, content: Html, title = t.operator.title): View {
  return createCardView({ title, content, look: 'device' })
}

function renderSignInLink({ t }: PageContext): Html {
  return html`<p><a class="button block" href="/sign-in?next=/operator">${t.frame.signIn}</a></p>`
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
    path,
    content: html`<div class="form-end"><button class="button block">${operator.setUp}</button></div>`,
  })
  return draw(
    context,
    html`<p class="sub">${operator.beginLead}</p>
      ${form}`,
  )
}

function drawCodeForm(context: PageContext, action: 'confirm' | 'verify', before?: Html): View {
  const { operator } = context.t
  return draw(context, html`${before} ${renderCodeForm(context, action)}`, action === 'confirm' ? operator.setUp : operator.title)
}

function renderCodeForm(context: PageContext, action: 'confirm' | 'verify'): Html {
  const { operator } = context.t
  const form = new PageForm(context, action)
  const attributes = html`autocomplete="one-time-code" autocapitalize="none" spellcheck="false" maxlength="${maxTypedChars}"
  required`
  const hint = action === 'verify' ? operator.codeHint : operator.confirmHint
  return form.render({
    path,
    content: html`${form.renderField({ name: 'code', label: operator.code, hint, attributes })}
      <div class="form-end"><button class="button block">${operator.verify}</button></div>`,
  })
}

function drawRecoveryCodes(context: PageContext, codes: readonly string[]): View {
  const { operator } = context.t
  return draw(
    context,
    html`<p class="sub">${operator.recoveryLead}</p>
      <pre tabindex="0" aria-label="${operator.recoveryTitle}"><code>${codes.join('\n')}</code></pre>
      <p><a class="button block" href="${path}">${operator.recoverySaved}</a></p>`,
    operator.recoveryTitle,
  )
}

async function drawConsole(context: PageContext, actor: ConsoleActor): Promise<View> {
  const { t, services } = context
  const { operator } = t
  const account = actor.kind === 'session' ? await services.store.accounts.find(actor.account) : undefined
  const isFresh = isStepUpFresh(actor, services.clock.now())
  const left = actor.kind === 'session' ? await services.membership.secondFactors.countRecoveryCodes(actor.account) : null
  const facts = renderFacts([
    [
      operator.who,
      account?.email ?? (actor.kind === 'shell' ? interpolate(operator.shellUser, { user: actor.systemUser }) : actor.account),
    ],
    [operator.role, actor.kind === 'session' ? operator.roles[actor.role] : operator.shellRole],
    [operator.scopes, listScopes(actor).join(', ')],
    [
      operator.stepUp,
      isFresh ? html`${operator.stepUpUntil} ${renderTime(context, actor.verifiedAt + stepUpMs)}` : operator.stepUpOver,
    ],
    [operator.recoveryLeft, left === null ? null : String(left)],
  ])
  const close = new PageForm(context, 'close').render({
    path,
    content: html`<button class="button quiet block">${operator.close}</button>`,
  })
  const renew = new PageForm(context, 'renew_codes').render({
    path,
    content: html`<button class="button quiet block">${operator.renewCodes}</button>`,
  })
  const stepUp = actor.kind === 'session' ? renderCodeForm(context, 'verify') : html`<p class="sub">${operator.shellStepUp}</p>`
  return draw(
    context,
    html`<p class="sub">${operator.consoleLead}</p>
      ${facts} ${!isFresh && stepUp} ${isFresh && actor.kind === 'session' && renew} ${close}`,
  )
}
