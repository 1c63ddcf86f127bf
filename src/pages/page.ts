/** The interface of a page and its rendering context. */
import type { Account } from '../domain/identity/account.ts'
import type { ClientInfo } from '../domain/identity/client-info.ts'
import type { Session } from '../domain/identity/session.ts'
import type { Notice } from '../domain/notice.ts'
import type { OperatorAccess } from '../domain/identity/operators/operator-actor.ts'
import type { ConsoleActor } from '../domain/services/operators/console-session-service.ts'
import type { SecondFactorProof, SecondFactorRefusal } from '../domain/services/operators/second-factor-service.ts'
import type { GatewayError } from '../errors.ts'
import type { Operations } from '../services/health/operations.ts'
import type { Services } from '../services/services.ts'
import { html } from './html.ts'
import type { Html } from './html.ts'
import type { Language } from './language.ts'
import type { Theme } from './theme.ts'
import type { PageModule } from './page-data.ts'
import type { Texts } from './texts/en.ts'

/**
 * One page of the site, under one path. Of the audience `members`, visitors are redirected to sign in first; of `guests`, members who are
 * signed in are redirected onwards; of `operators`, only operators with `access` see it.
 */
export type Page = PageParts &
  (
    | ({ readonly audience: 'members' } & PageForms<MemberContext>)
    | ({ readonly audience: 'everyone' | 'guests' } & PageForms<PageContext>)
    | { readonly audience: 'operators'; readonly access: OperatorAccess; readonly actions?: OperatorActions }
  )

interface PageParts {
  readonly path: string
  /** Its address may have a code, or lead to one: browsers send only the origin of it with requests for other files. */
  readonly hasPrivateAddress?: boolean
  /** It is another page to an operator who is signed in to the console, and `operator` of its context is that one. */
  readonly findsOperator?: boolean
  readonly view: (context: PageContext) => View | Promise<View>
  /** Where its forms are sent, if not to the page itself. */
  readonly formPath?: string
  /** Sentences that the page shows after an action, by the `done` of its redirect. */
  readonly notices?: (t: Texts) => Readonly<Record<string, string>>
  /** What a POST does that needs neither a session nor an origin, because its address authorizes it. */
  readonly submit?: (context: PageContext) => Promise<View>
}

export interface PageForms<Context extends PageContext> {
  /** What the page's forms do, by their `action`. */
  readonly actions?: PageActions<Context>
  /**
   * What a form does that was received before; by default the page reports that, and nothing is done. A form that may act again has the
   * same function here.
   */
  readonly repeats?: PageActions<Context>
}

export type PageActions<Context extends PageContext = MemberContext> = Readonly<Record<string, PageAction<Context>>>

/**
 * Changes something, and returns the page to show: mostly the same page with a notice, by a redirect that Back and Reload survive.
 * @throws GatewayError or TooManyAttempts, which the page shows at the form; the form can then be sent again
 */
export type PageAction<Context extends PageContext = MemberContext> = (
  context: Context,
  form: SubmittedForm,
) => Promise<View | PageRedirect>

/** What an operator's form does, and what it asks of the operator; `src/http/operator-page.ts` checks that before it runs. */
export interface OperatorAction {
  readonly access: OperatorAccess
  readonly run: PageAction<OperatorContext>
}

export type OperatorActions = Readonly<Record<string, OperatorAction>>

/** `done` names a sentence of the page's `notices`. */
export interface PageRedirect {
  readonly path: string
  readonly done?: string
}

/** A form as a browser sent it, by `components/forms/form.ts`. */
export interface SubmittedForm {
  readonly action: string
  /** What the form is about: the id of a key, of a session. */
  readonly subject: string
  readonly fields: URLSearchParams
}

/** A form that changed nothing, which the page draws again with what was typed. */
export interface RedrawnForm extends SubmittedForm {
  /** Null: the form continues, and asks for more. */
  readonly failure: GatewayError | null
}

/** The reader, their language and the requested address. */
export interface PageContext {
  readonly services: Services
  readonly t: Texts
  readonly language: Language
  /** The reader's region of that language, for dates: `en-GB`. */
  readonly locale: string
  /** `auto` follows the reader's system. */
  readonly theme: Theme
  /** The account signed in, or null. */
  readonly viewer: Account | null
  readonly path: string
  readonly query: URLSearchParams
  readonly browser: PageBrowser
  /** The session of the cookie, or null. */
  readonly member: PageMember | null
  /** The operator, on pages of the console, which also show how the process does. */
  readonly operator: PageOperator | null
  readonly operations: Operations | null
  /** What the operator announces now; none on pages of the console. */
  readonly announcements: readonly Notice[]
  /** Notices that the reader has dismissed, by their versions: they are folded, not gone. */
  readonly dismissed: ReadonlySet<string>
  /** The id of this page's forms. */
  readonly formId: string
  readonly redrawn: RedrawnForm | null
  /** Null outside the pages of members. */
  readonly consent: Consent | null
  /** The address of a file of ours, with its content hash. */
  readonly asset: (name: string) => string
}

/** The browser behind a request, signed in or not, and what an action may do with its cookies. */
export interface PageBrowser {
  readonly client: ClientInfo
  /** Binds a code to this browser. */
  readonly token: string | null
  readonly setToken: (token: string | null) => void
  /** Where a sign-in stands that this browser began. */
  readonly signInStep: SignInStep | null
  readonly setSignInStep: (step: SignInStep) => void
  /** Signs in to the account, and ends the sessions that the browser had before. */
  readonly openSession: (account: string, token: string) => Promise<void>
  /** The operator of the console's cookie, which is apart from the member's. */
  readonly findOperator: () => Promise<PageOperator | undefined>
  /** Null deletes the console's cookie. */
  readonly setConsoleToken: (token: string | null) => void
}

/** A code was sent. The browser keeps this, so that a reload shows the field for it, and its link leads on to the page that was wanted. */
export interface SignInStep {
  readonly way: 'code' | 'sign-up'
  readonly email: string
  readonly invite: string | null
  readonly next: string
  readonly sentAt: number
  /** The mail server cannot be reached at the moment. */
  readonly isDelayed: boolean
}

/** The member behind a request, and what an action may do with the session's cookie. */
export interface PageMember {
  /** Of the session. */
  readonly id: string
  readonly client: ClientInfo
  readonly findSession: () => Promise<Session>
  /** Null deletes the cookie. */
  readonly setSessionToken: (token: string | null) => void
}

/** The operator behind a request to the console. */
export interface PageOperator {
  readonly actor: ConsoleActor
  /** Null for a shell link. */
  readonly account: Account | null
  /** Whether a fresh proof is missing that a passkey can give. */
  readonly offersPasskey: boolean
  /** Proves the second factor again; null where it was accepted. @throws TooManyAttempts */
  readonly stepUp: (proof: SecondFactorProof) => Promise<SecondFactorRefusal | null>
}

/** The OAuth client's request in the address of the page. */
export interface Consent {
  readonly find: () => Promise<ConsentRequest>
  /** Returns the next address of the browser. */
  readonly decide: (decision: 'approved' | 'denied') => Promise<string>
}

/** An OAuth client that asks to act for the member. */
export interface ConsentRequest {
  readonly name: string
  /** The host that describes it; null for a client that has registered itself. */
  readonly home: string | null
  readonly redirect: { readonly place: string; readonly isLocal: boolean }
  readonly expiresAt: number
}

export interface MemberContext extends PageContext {
  readonly viewer: Account
  readonly member: PageMember
}

export interface OperatorContext extends PageContext {
  readonly operator: PageOperator
  readonly operations: Operations
}

/** A page's contribution to the layout. */
export interface View {
  readonly title: string
  readonly description?: string
  readonly main: Html
  readonly script?: PageModule
  /** Without its script the page is of no use, and a reader without scripts is shown that. */
  readonly needsScript?: boolean
  /** The same content for programs, as Markdown. */
  readonly alternate?: string
  /** A stylesheet of its own, besides the site's. */
  readonly styles?: string
  /** The chat fills the window and needs no footer; the console has a header of its own. */
  readonly layout?: 'page' | 'app' | 'console'
  readonly status?: number
  /** Where the browser goes by itself. */
  readonly refreshTo?: string
  /** What the last form did, above the page. */
  readonly notice?: string
}

/** Members' pages are drawn for members only; the route sees to that. */
export function requireMember(context: PageContext): MemberContext {
  const { viewer, member } = context
  if (viewer === null || member === null)
    throw new Error('A page for members was rendered without a member. Its `audience` must be `members`.')
  return { ...context, viewer, member }
}

/** Pages of the console are drawn for operators only; the route sees to that. */
export function requireOperatorContext(context: PageContext): OperatorContext {
  const { operator, operations } = context
  if (operator === null || operations === null)
    throw new Error('A page for operators was rendered without one. Its `audience` must be `operators`.')
  return { ...context, operator, operations }
}

/** `{name}` in a text, filled. */
export function interpolate(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => (Object.hasOwn(values, name) ? String(values[name]) : whole))
}

/** The same with markup in the places of the names. */
export function fillText(text: string, values: Readonly<Record<string, Html>>): Html {
  return html`${text.split(/(\{\w+\})/).map((part) => {
    const name = /^\{(\w+)\}$/.exec(part)?.[1] ?? ''
    return Object.hasOwn(values, name) ? values[name] : part
  })}`
}
