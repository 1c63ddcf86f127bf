/**
 * `/sign-in`: mail code, password, sign-up, providers. The scripts send the forms as JSON; where they do not run, `method="post"` keeps a
 * password out of the address.
 */
import { renderUsageExample } from '../components/usage-example.ts'
import { html, renderTitle } from '../html.ts'
import type { Html } from '../html.ts'
import { interpolate } from '../page.ts'
import type { PageContext, View } from '../page.ts'
import { toSafeReturnPath } from '../return-path.ts'

type SignInMethod = 'code' | 'password' | 'sign-up'

export function createSignInView(context: PageContext): View {
  const { t, query, services } = context
  const next = toSafeReturnPath(query.get('next'))
  const invite = getInviteCode(query)
  const title = invite === '' ? t.signIn.title : t.signIn.titleInvited
  const { signUp, providersOnly } = services.config.signIn
  const lead = invite === '' ? getLead(context, next) : t.signIn.leadInvited
  if (providersOnly) return createProvidersOnlyView(context, title, next, invite)
  return {
    title,
    styles: 'sign-in.css',
    main: html`<section class="shell split">
      <div class="card pad sign-in">
        <h1>${title}</h1>
        <p class="sub">${signUp === 'closed' ? t.signIn.leadClosed : lead}</p>
        ${renderSignUpPolicy(context)} ${renderProviderFailure(context)}
        <div class="tabs" role="tablist" aria-label="${t.signIn.ways}">
          ${renderTab('code', t.signIn.byCode, true)} ${renderTab('password', t.signIn.byPassword)}
          ${signUp !== 'closed' && renderTab('sign-up', t.signIn.signUp)}
        </div>
        ${renderPanel('code', true, renderCodeForms(context, invite))}
        ${renderPanel('password', false, renderPasswordForm(context))}
        ${signUp !== 'closed' && renderPanel('sign-up', false, renderSignUpForms(context, invite))}
        ${renderProviders(context, next, invite)}
      </div>
      <aside class="sign-in-aside" aria-label="${t.signIn.asideTitle}">
        <h2>${renderTitle(t.signIn.asideTitle)}</h2>
        <ul class="ticks" role="list">
          ${t.signIn.aside.map((line) => html`<li>${line}</li>`)}
        </ul>
        ${renderUsageExample(context)}
      </aside>
    </section>`,
    script: { name: 'sign-in', texts: { signIn: t.signIn }, props: { next, signUp: signUp !== 'closed' } },
  }
}

/** Where the providers are the only way in. */
function createProvidersOnlyView(context: PageContext, title: string, next: string, invite: string): View {
  return {
    title,
    styles: 'sign-in.css',
    main: html`<section class="shell centre">
      <div class="card pad sign-in">
        <h1>${title}</h1>
        <p class="sub">${context.t.signIn.leadProviders}</p>
        ${renderSignUpPolicy(context)} ${renderProviderFailure(context)} ${renderProviderLinks(context, next, invite)}
      </div>
    </section>`,
  }
}

/** Why the visitor is asked to sign in, where the page that sent them here tells. */
function getLead({ t, query }: PageContext, next: string): string {
  if (!query.has('next')) return t.signIn.lead
  return next.startsWith('/device') ? t.signIn.leadDevice : t.signIn.leadNext
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

function renderTab(way: SignInMethod, label: string, selected = false): Html {
  return html`<button
    type="button"
    role="tab"
    id="tab-${way}"
    aria-controls="panel-${way}"
    aria-selected="${selected ? 'true' : 'false'}"
    tabindex="${selected ? 0 : -1}"
  >
    ${label}
  </button>`
}

function renderPanel(way: SignInMethod, selected: boolean, content: Html): Html {
  return html`<div role="tabpanel" id="panel-${way}" aria-labelledby="tab-${way}" ${!selected && html`hidden`}>${content}</div>`
}

function renderCodeForms(context: PageContext, invite: string): Html {
  const { t } = context
  return html`<form method="post" data-form="otp-start" novalidate>
      ${renderEmailField(context, 'code')} ${renderInviteField(context, invite, 'code')}
      <div class="form-end"><button class="button block">${t.signIn.sendCode}</button></div>
      <div data-outcome></div>
    </form>
    ${renderCodeForm(context, 'otp-verify')}`
}

function renderCodeForm({ t }: PageContext, name: string): Html {
  return html`<form method="post" data-form="${name}" novalidate hidden>
    <p class="notice" data-sent></p>
    <div class="field">
      <label for="${name}-code">${t.signIn.code}</label>
      <input class="code" id="${name}-code" name="code" inputmode="numeric" autocomplete="one-time-code" required />
    </div>
    <div class="form-end"><button class="button block">${t.signIn.verify}</button></div>
    <div data-outcome></div>
    <p class="form-links">
      <button class="link-button" type="button" data-again disabled>${t.signIn.again}</button>
      <button class="link-button" type="button" data-back>${t.signIn.otherAddress}</button>
    </p>
  </form>`
}

function renderPasswordForm(context: PageContext): Html {
  const { t } = context
  return html`<form method="post" data-form="password" novalidate>
    ${renderEmailField(context, 'password')}
    <div class="field">
      <label for="password-password">${t.signIn.password}</label>
      <input id="password-password" name="password" type="password" autocomplete="current-password" required />
      ${renderShowPassword(context, 'password-password')}
    </div>
    <div class="form-end"><button class="button block">${t.signIn.signInButton}</button></div>
    <div data-outcome></div>
    <p class="form-links"><button class="link-button" type="button" data-forgotten>${t.signIn.forgotten}</button></p>
  </form>`
}

function renderShowPassword({ t }: PageContext, field: string): Html {
  return html`<p class="form-links">
    <button class="link-button" type="button" data-show-password aria-controls="${field}" aria-pressed="false">
      ${t.signIn.showPassword}
    </button>
  </p>`
}

function renderSignUpForms(context: PageContext, invite: string): Html {
  const { t } = context
  return html`<form method="post" data-form="sign-up" novalidate>
      ${renderEmailField(context, 'sign-up')}
      <div class="field">
        <label for="sign-up-password">${t.signIn.newPassword}</label>
        <input
          id="sign-up-password"
          name="password"
          type="password"
          autocomplete="new-password"
          minlength="8"
          required
          aria-describedby="sign-up-hint"
        />
        <p class="hint" id="sign-up-hint">${t.signIn.passwordHint}</p>
        ${renderShowPassword(context, 'sign-up-password')}
      </div>
      ${renderInviteField(context, invite, 'sign-up')}
      <div class="form-end"><button class="button block">${t.signIn.signUpButton}</button></div>
      <div data-outcome></div>
    </form>
    ${renderCodeForm(context, 'sign-up-verify')}`
}

/** Of the type `text`, because with `email` WebKit refuses a domain like `bücher.example`; the server converts such domains. */
function renderEmailField({ t }: PageContext, form: string): Html {
  return html`<div class="field">
    <label for="${form}-email">${t.signIn.email}</label>
    <input
      id="${form}-email"
      name="email"
      type="text"
      inputmode="email"
      pattern="[^@\\s]+@[^@\\s]+"
      autocomplete="${form === 'password' ? 'username' : 'email'}"
      autocapitalize="none"
      spellcheck="false"
      maxlength="254"
      required
    />
  </div>`
}

function renderInviteField({ t, services }: PageContext, invite: string, form: string): Html {
  // Without an invitation the field is hidden, because most visitors here only sign in.
  const needed = services.config.signIn.signUp === 'invited'
  if (invite === '' && form === 'code' && !needed) return html``
  return html`<div class="field">
    <label for="${form}-invite"
      >${invite === '' && !(needed && form === 'sign-up') ? t.signIn.invite : t.signIn.inviteGiven}</label
    >
    <input id="${form}-invite" name="invite" value="${invite}" autocomplete="off" spellcheck="false" maxlength="64" />
  </div>`
}

function renderProviders(context: PageContext, next: string, invite: string): Html {
  if (Object.keys(context.services.config.signIn.providers).length === 0) return html``
  return html`<p class="or"><span>${context.t.signIn.or}</span></p>
    ${renderProviderLinks(context, next, invite)}`
}

function renderProviderLinks({ t, services }: PageContext, next: string, invite: string): Html {
  const to = (id: string): string =>
    `/api/membership/auth/oauth/${encodeURIComponent(id)}/start?${new URLSearchParams({ next, ...(invite === '' ? {} : { invite }) })}`
  return html`<div class="providers">
    ${Object.entries(services.config.signIn.providers).map(
      ([id, { name }]) =>
        html`<a class="button quiet block" href="${to(id)}">${interpolate(t.signIn.withProvider, { name })}</a>`,
    )}
  </div>`
}
