/** `/sign-in`: by emailed code, by password, by sign-up, or through a provider. */
import { codeLifetimeMs, resendAfterMs } from '../../../domain/identity/email/email-otp.ts'
import { createCodeRequestError } from '../../../services/membership-errors.ts'
import { createCardView } from '../../components/card-page.ts'
import {
  createAddressError,
  createErrorInWords,
  maxCodeChars,
  maxEmailChars,
  readEmailCode,
  readNewPassword,
  readOptional,
  readText,
} from '../../components/forms/fields.ts'
import { PageForm } from '../../components/forms/form.ts'
import { renderUsageExample } from '../../components/usage-example.ts'
import { html, renderTitle } from '../../html.ts'
import type { Html } from '../../html.ts'
import { fillText, interpolate } from '../../page.ts'
import type { PageActions, PageContext, PageRedirect, SignInStep, SubmittedForm, View } from '../../page.ts'
import { toSafeReturnPath } from '../../return-path.ts'
import { openFormSession, requireEmailSignIn } from '../../open-form-session.ts'

type SignInMethod = 'code' | 'password' | 'sign-up'

const maxInviteChars = 64

export const signInActions: PageActions<PageContext> = {
  code: (context, form) => requestCode(context, form, 'code'),
  sign_up: (context, form) => requestCode(context, form, 'sign-up'),
  verify: (context, form) => signInWithCode(context, form, false),
  password: (context, form) => signInWithPassword(context, form, false),
}

export const signInRepeats: PageActions<PageContext> = {
  code: (context, form) => repeatRequest(context, form, 'code'),
  sign_up: (context, form) => repeatRequest(context, form, 'sign-up'),
  verify: (context, form) => signInWithCode(context, form, true),
  password: (context, form) => signInWithPassword(context, form, true),
}

async function requestCode(context: PageContext, form: SubmittedForm, way: SignInStep['way']): Promise<PageRedirect> {
  requireEmailSignIn(context)
  const { services, browser } = context
  const email = readText(form, 'email', maxEmailChars)
  const invite = readOptional(form, 'invite', maxInviteChars)
  const password = way === 'sign-up' ? readNewPassword(form, 'password') : null
  const request = { email, browser: toBrowserToken(context, form), password, invite }
  const result = await services.membership.signIn.requestCode(request, browser.client)
  if (result.kind === 'address') throw createAddressError(result.reason)
  if (result.kind !== 'sent') throw createCodeRequestError(result, services.config.signIn)
  return awaitCode(context, form, { way, email, invite, isDelayed: result.isDelayed })
}

/** No second email: the page that waits for the code. Another address, typed after going back, counts as it would at first. */
async function repeatRequest(context: PageContext, form: SubmittedForm, way: SignInStep['way']): Promise<PageRedirect> {
  const email = readText(form, 'email', maxEmailChars)
  const earlierStep = context.browser.signInStep
  if (earlierStep !== null && earlierStep.email !== email) return requestCode(context, form, way)
  const invite = readOptional(form, 'invite', maxInviteChars)
  return earlierStep === null ? awaitCode(context, form, { way, email, invite, isDelayed: false }) : { path: toOwnPath(context) }
}

function awaitCode(
  context: PageContext,
  form: SubmittedForm,
  step: Pick<SignInStep, 'way' | 'email' | 'invite' | 'isDelayed'>,
): PageRedirect {
  const { services, browser } = context
  if (browser.token === null) browser.setToken(toBrowserToken(context, form))
  browser.setSignInStep({ ...step, next: getNext(context), sentAt: services.clock.now() })
  return { path: toOwnPath(context) }
}

/** The browser keeps its token, so that a second code replaces the first. A new one is the form's, so that its repeat sets the same. */
function toBrowserToken({ services, browser }: PageContext, { fields }: SubmittedForm): string {
  return browser.token ?? services.membership.formIds.deriveToken(fields.get('form') ?? '', 'browser')
}

async function signInWithCode(context: PageContext, form: SubmittedForm, isRepeat: boolean): Promise<PageRedirect> {
  requireEmailSignIn(context)
  const { services, browser } = context
  const code = readEmailCode(form, 'code')
  const invite = readOptional(form, 'invite', maxInviteChars)
  const { signIn } = services.membership
  await openFormSession(context, form, {
    evidence: `${form.subject} ${code}`,
    // Without the browser's token no code is valid; an empty one keeps the code path, and so the timing, the same.
    signIn: (client) => signIn.signInWithCode(form.subject, code, browser.token ?? '', client, invite),
    createWrongError: () => createErrorInWords('invalid_credentials', 'code', (t) => t.signIn.wrongCode),
    isRepeat,
  })
  browser.setToken(null)
  return { path: getNext(context) }
}

async function signInWithPassword(context: PageContext, form: SubmittedForm, isRepeat: boolean): Promise<PageRedirect> {
  requireEmailSignIn(context)
  const email = readText(form, 'email', maxEmailChars)
  const password = readNewPassword(form, 'password')
  const { signIn } = context.services.membership
  await openFormSession(context, form, {
    evidence: JSON.stringify([email, password]),
    signIn: (client) => signIn.signInWithPassword(email, password, client),
    createWrongError: () => createErrorInWords('invalid_credentials', 'password', (t) => t.signIn.wrongPassword),
    isRepeat,
  })
  return { path: getNext(context) }
}

export function createSignInView(context: PageContext): View {
  const { t, query, services } = context
  const invite = getInviteCode(query)
  const title = invite === '' ? t.signIn.title : t.signIn.titleInvited
  const { signUp, providersOnly } = services.config.signIn
  if (providersOnly) return createProvidersOnlyView(context, title, invite)
  const step = findStep(context)
  const way = findWay(context, step)
  return {
    title,
    styles: 'sign-in.css',
    main: html`<section class="shell split">
      <div class="card pad sign-in">
        <h1>${title}</h1>
        <p class="sub">${signUp === 'closed' ? t.signIn.leadClosed : invite === '' ? getLead(context) : t.signIn.leadInvited}</p>
        ${renderSignUpPolicy(context)} ${renderProviderFailure(context)}
        <nav class="tabs" aria-label="${t.signIn.ways}">
          ${renderTab(context, 'code', t.signIn.byCode, way)} ${renderTab(context, 'password', t.signIn.byPassword, way)}
          ${signUp !== 'closed' && renderTab(context, 'sign-up', t.signIn.signUp, way)}
        </nav>
        ${step?.way === way ? renderCodeForms(context, step) : renderFirstForm(context, way, invite)}
        ${renderProviders(context, invite)}
      </div>
      <aside class="sign-in-aside" aria-label="${t.signIn.asideTitle}">
        <h2>${renderTitle(t.signIn.asideTitle)}</h2>
        <ul class="ticks" role="list">
          ${t.signIn.aside.map((line) => html`<li>${line}</li>`)}
        </ul>
        ${renderUsageExample(context)}
      </aside>
    </section>`,
    script: { name: 'sign-in', texts: {}, props: {} },
  }
}

/** The code that the page waits for: of the form that was refused, else what the browser keeps. */
function findStep({ services, browser, query, redrawn }: PageContext): SignInStep | null {
  const { signInStep: step } = browser
  const now = services.clock.now()
  if (redrawn?.action === 'verify' && step?.email !== redrawn.subject) {
    const way = redrawn.fields.get('way') === 'sign-up' ? 'sign-up' : 'code'
    const invite = redrawn.fields.get('invite')
    return { way, email: redrawn.subject, invite, next: '', sentAt: now - resendAfterMs, isDelayed: false }
  }
  if (step === null || now - step.sentAt >= codeLifetimeMs) return null
  const isLeft = query.has('new') || (redrawn !== null && redrawn.action !== 'verify' && redrawn.subject === '')
  return isLeft ? null : step
}

const waysOfActions: Readonly<Record<string, SignInMethod>> = { code: 'code', password: 'password', sign_up: 'sign-up' }

function findWay({ services, query, redrawn }: PageContext, step: SignInStep | null): SignInMethod {
  const requestedWay = waysOfActions[redrawn?.action ?? ''] ?? query.get('way') ?? step?.way
  if (redrawn?.action === 'verify' && step !== null) return step.way
  if (requestedWay === 'sign-up') return services.config.signIn.signUp === 'closed' ? 'code' : 'sign-up'
  return requestedWay === 'password' ? 'password' : 'code'
}

function getNext({ query }: PageContext): string {
  return toSafeReturnPath(query.get('next'))
}

/** This page with another way, or without a choice; where to go afterwards and the invitation stay. */
function toOwnPath({ query }: PageContext, choice: Readonly<Record<string, string>> = {}): string {
  const keptParameters = ['next', 'invite'].flatMap((name) =>
    query
      .getAll(name)
      .slice(0, 1)
      .map((value): [string, string] => [name, value]),
  )
  const search = new URLSearchParams([...keptParameters, ...Object.entries(choice)]).toString()
  return search === '' ? '/sign-in' : `/sign-in?${search}`
}

/** Where the providers are the only way in. */
function createProvidersOnlyView(context: PageContext, title: string, invite: string): View {
  return createCardView({
    title,
    content: html`<p class="sub">${context.t.signIn.leadProviders}</p>
      ${renderSignUpPolicy(context)} ${renderProviderFailure(context)} ${renderProviderLinks(context, invite)}`,
  })
}

/** Why the visitor is asked to sign in, where the page that sent them here tells. */
function getLead(context: PageContext): string {
  const { t, query } = context
  if (!query.has('next')) return t.signIn.lead
  return getNext(context).startsWith('/device') ? t.signIn.leadDevice : t.signIn.leadNext
}

/** The sign-up conditions, shown before a visitor tries. */
function renderSignUpPolicy({ t, services }: PageContext): Html {
  const { signUp, allowedDomains } = services.config.signIn
  if (signUp === 'closed') return html``
  const domains =
    allowedDomains.length > 0 &&
    html`<p class="notice">${interpolate(t.signIn.domains, { domains: allowedDomains.join(', ') })}</p>`
  return html`${signUp === 'invited' && html`<p class="notice">${t.signIn.invitedOnly}</p>`} ${domains}`
}

/** Refusals that an emailed code overcomes. */
const solvedByEmail: ReadonlySet<string> = new Set([
  'provider_failed',
  'email_missing',
  'email_unverified',
  'email_unusable',
  'link_refused',
  'too_many',
])

function renderProviderFailure({ t, query, services }: PageContext): Html {
  const code = query.get('error')
  if (code === null) return html``
  const reason = Object.hasOwn(t.signIn.providerFailed, code) ? code : 'provider_failed'
  const hasOtherWay = solvedByEmail.has(reason) && !services.config.signIn.providersOnly
  return html`<p class="notice bad" role="alert">${t.signIn.providerFailed[reason]} ${hasOtherWay && t.signIn.otherWay}</p>`
}

/** The invitation comes from a link, so only a well-formed one is repeated on the page. */
function getInviteCode(query: URLSearchParams): string {
  const invite = query.get('invite') ?? ''
  return /^[\w-]{1,64}$/.test(invite) ? invite : ''
}

function renderTab(context: PageContext, way: SignInMethod, label: string, current: SignInMethod): Html {
  return html`<a href="${toOwnPath(context, { way })}" data-way ${way === current && html`aria-current="page"`}>${label}</a>`
}

function renderFirstForm(context: PageContext, way: SignInMethod, invite: string): Html {
  if (way === 'password') return renderPasswordForm(context)
  return way === 'sign-up' ? renderSignUpForm(context, invite) : renderCodeRequestForm(context, invite)
}

function renderCodeRequestForm(context: PageContext, invite: string): Html {
  const form = new PageForm(context, 'code')
  return form.render({
    path: toOwnPath(context),
    content: html`${renderEmailField(context, form)} ${renderInviteField(context, form, invite)}
      <div class="form-end"><button class="button block">${context.t.signIn.sendCode}</button></div>`,
  })
}

/** Where the code goes, and what to do when none arrives. A sign-up is sent again with its password, which is typed again. */
function renderCodeForms(context: PageContext, step: SignInStep): Html {
  const { t, services } = context
  const { way, email, invite } = step
  const verify = new PageForm(context, 'verify', email)
  const again = new PageForm(context, 'code', 'again')
  const attributes = html`class="code" inputmode="numeric" autocomplete="one-time-code" maxlength="${maxCodeChars}" required
  ${!again.isRedrawn && !verify.isRedrawn && html`autofocus`}`
  const waitSeconds = Math.ceil((step.sentAt + resendAfterMs - services.clock.now()) / 1000)
  const sentNotice = fillText(step.isDelayed ? t.signIn.codeDelayed : t.signIn.codeSent, {
    email: html`<strong>${email}</strong>`,
  })
  const hiddenFields = { email, invite: invite ?? '' }
  return html`${verify.render({
      path: toOwnPath(context),
      hidden: { way, invite: hiddenFields.invite },
      content: html`<p class="notice" role="status">${sentNotice}</p>
        ${verify.renderField({ name: 'code', label: t.signIn.code, attributes })}
        <div class="form-end"><button class="button block">${t.signIn.verify}</button></div>`,
    })}
    <div class="form-links">
      ${
        way === 'code'
          ? again.render({
              path: toOwnPath(context),
              hidden: hiddenFields,
              content: html`<button class="link-button" data-wait="${waitSeconds}" data-waiting="${t.signIn.againIn}">
                ${t.signIn.again}
              </button>`,
            })
          : html`<a href="${toOwnPath(context, { way, new: '1' })}">${t.signIn.again}</a>`
      }
      <a href="${toOwnPath(context, { way, new: '1' })}">${t.signIn.otherAddress}</a>
    </div>`
}

function renderPasswordForm(context: PageContext): Html {
  const { t } = context
  const form = new PageForm(context, 'password')
  return form.render({
    path: toOwnPath(context),
    content: html`${renderEmailField(context, form)}
      ${form.renderField({
        name: 'password',
        label: t.signIn.password,
        type: 'password',
        attributes: html`autocomplete="current-password" required`,
      })}
      ${renderShowPassword(context)}
      <div class="form-end"><button class="button block">${t.signIn.signInButton}</button></div>
      <p class="form-links"><a href="${toOwnPath(context, { way: 'code' })}" data-way>${t.signIn.forgotten}</a></p>`,
  })
}

function renderSignUpForm(context: PageContext, invite: string): Html {
  const { t } = context
  const form = new PageForm(context, 'sign_up')
  return form.render({
    path: toOwnPath(context),
    content: html`${renderEmailField(context, form)}
      ${form.renderField({
        name: 'password',
        label: t.signIn.newPassword,
        type: 'password',
        hint: t.signIn.passwordHint,
        attributes: html`autocomplete="new-password" required`,
      })}
      ${renderShowPassword(context)} ${renderInviteField(context, form, invite)}
      <div class="form-end"><button class="button block">${t.signIn.signUpButton}</button></div>`,
  })
}

/** Shown by the script, which it needs. */
function renderShowPassword({ t }: PageContext): Html {
  return html`<p class="form-links" data-show-password hidden>
    <button class="link-button" type="button" aria-pressed="false" data-pressed-label="${t.signIn.hidePassword}">
      ${t.signIn.showPassword}
    </button>
  </p>`
}

/** Of the type `text`, because with `email` WebKit refuses a domain like `bücher.example`; the server converts such domains. */
function renderEmailField({ t, browser, query }: PageContext, form: PageForm): Html {
  const attributes = html`inputmode="email" autocomplete="${form.action === 'password' ? 'username' : 'email'}"
  autocapitalize="none" spellcheck="false" maxlength="${maxEmailChars}" required`
  const value = query.has('new') ? (browser.signInStep?.email ?? '') : ''
  return form.renderField({ name: 'email', label: t.signIn.email, value, attributes })
}

function renderInviteField({ t, services }: PageContext, form: PageForm, invite: string): Html {
  const isNeeded = services.config.signIn.signUp === 'invited'
  // Without an invitation the field is hidden, because most visitors here only sign in.
  const isOptional = invite === '' && !isNeeded
  if (isOptional && form.action === 'code') return html``
  const attributes = html`autocomplete="off" spellcheck="false" maxlength="${maxInviteChars}"`
  return form.renderField({
    name: 'invite',
    label: isOptional ? t.signIn.invite : t.signIn.inviteGiven,
    value: invite,
    attributes,
  })
}

function renderProviders(context: PageContext, invite: string): Html {
  if (Object.keys(context.services.config.signIn.providers).length === 0) return html``
  return html`<p class="or"><span>${context.t.signIn.or}</span></p>
    ${renderProviderLinks(context, invite)}`
}

function renderProviderLinks(context: PageContext, invite: string): Html {
  const { t, services } = context
  const next = getNext(context)
  const to = (id: string): string =>
    `/api/membership/auth/oauth/${encodeURIComponent(id)}/start?${new URLSearchParams({ next, ...(invite === '' ? {} : { invite }) })}`
  return html`<div class="providers">
    ${Object.entries(services.config.signIn.providers).map(
      ([id, { name }]) =>
        html`<a class="button quiet block" href="${to(id)}">${interpolate(t.signIn.withProvider, { name })}</a>`,
    )}
  </div>`
}
