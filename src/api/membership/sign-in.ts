/** Signing in and out, by mail code, link, password and provider; changing the password; leaving. */
import { z } from 'zod'
import { endpoint } from '../endpoint.ts'
import { bareCode, count, email, instant, invite, listOf, ok, optionalText, password, seconds, text } from '../fields.ts'
import { session } from './sessions.ts'

/** Longer than any code. */
const codeChars = 64

const account = z
  .strictObject({
    id: z.string(),
    email: z.string().nullable(),
    email_masked: z.string().nullable(),
    plan: z.string(),
    has_password: z.boolean(),
    created_at: instant,
  })
  .meta({ id: 'Account' })

const sent = z.strictObject({ ok, sent: z.literal(true), expires_in: seconds, resend_after: seconds })
const signedIn = z.strictObject({ ok, account, created: z.boolean(), invited: z.boolean() })
const link = text(codeChars).meta({ description: "The word after `#` in the letter's address." })

/** What a member shows besides their session: the password, or the code of `auth/proof/start`. */
const evidence = {
  current: password.nullish(),
  code: optionalText(codeChars).transform((typed) => (typed === null ? null : bareCode(typed))),
} as const

export const listProviders = endpoint({
  method: 'get',
  path: '/api/membership/auth/providers',
  who: 'anybody',
  about: 'The OpenID Connect providers that members sign in with here.',
  answer: listOf(z.strictObject({ id: z.string(), name: z.string(), start_url: z.url() })),
  errors: [],
})

export const startCode = endpoint({
  method: 'post',
  path: '/api/membership/auth/otp/start',
  who: 'visitor',
  about: 'Sends a letter with a code and a link; a short-lived HttpOnly cookie binds the code to this browser.',
  body: z.object({ email, invite }),
  answer: sent,
  errors: ['invalid_request'],
})

export const verifyCode = endpoint({
  method: 'post',
  path: '/api/membership/auth/otp/verify',
  who: 'visitor',
  about: 'Signs in with the code, and makes the account where there is none; sets the session cookie.',
  body: z.object({ email, code: text(codeChars).transform(bareCode), invite }),
  answer: signedIn,
  errors: ['invalid_credentials', 'sign_up_closed'],
})

export const lookAtLink = endpoint({
  method: 'post',
  path: '/api/membership/auth/link/look',
  who: 'visitor',
  about: 'Whose letter this link is from; uses up nothing.',
  body: z.object({ link }),
  answer: z.strictObject({ email_masked: z.string().nullable() }),
  errors: ['invalid_credentials'],
})

export const verifyLink = endpoint({
  method: 'post',
  path: '/api/membership/auth/link/verify',
  who: 'visitor',
  about: "Signs in with a letter's link: in any browser, once, within an hour; sets the session cookie.",
  body: z.object({ link }),
  answer: signedIn,
  errors: ['invalid_credentials', 'sign_up_closed'],
})

export const signUp = endpoint({
  method: 'post',
  path: '/api/membership/auth/sign-up',
  who: 'visitor',
  about: 'As `auth/otp/start`; the code then makes the account with this password.',
  body: z.object({ email, password, invite }),
  answer: sent,
  errors: ['invalid_request', 'sign_up_closed'],
})

export const signIn = endpoint({
  method: 'post',
  path: '/api/membership/auth/sign-in',
  who: 'visitor',
  about: 'Signs in with the password; sets the session cookie.',
  body: z.object({ email, password }),
  answer: z.strictObject({ ok, account }),
  errors: ['invalid_credentials'],
})

export const signOut = endpoint({
  method: 'post',
  path: '/api/membership/auth/sign-out',
  who: 'session',
  about: 'Ends this session and clears the cookie; no body is needed.',
  answer: z.strictObject({ ok }),
  errors: [],
})

export const showSession = endpoint({
  method: 'get',
  path: '/api/membership/auth/session',
  who: 'session',
  about: 'Who is signed in, and by which session.',
  answer: z.strictObject({ account, session }),
  errors: [],
})

export const startProof = endpoint({
  method: 'post',
  path: '/api/membership/auth/proof/start',
  who: 'cookie',
  about: 'Mails the account a code that confirms a change in this session, and signs nobody in; no body is needed.',
  answer: sent,
  errors: [],
})

export const changePassword = endpoint({
  method: 'post',
  path: '/api/membership/auth/password',
  who: 'cookie',
  about: 'Sets a password, ends all other sessions, and gives this one a new cookie.',
  body: z.object({ password, ...evidence }),
  answer: z.strictObject({ ok, ended_sessions: count }),
  errors: ['invalid_request', 'invalid_credentials', 'proof_required'],
})

export const deleteAccount = endpoint({
  method: 'post',
  path: '/api/membership/auth/delete-account',
  who: 'cookie',
  about: "Forgets the person; the ledger stays. `confirm` is the account's own address. Clears the cookie.",
  body: z.object({ confirm: email, ...evidence }),
  answer: z.strictObject({ ok, deleted: z.literal(true) }),
  errors: ['invalid_request', 'invalid_credentials', 'proof_required'],
})

export const startProvider = endpoint({
  method: 'get',
  path: '/api/membership/auth/oauth/{provider}/start',
  who: 'anybody',
  about: 'Sends the browser to the provider. `next` is where it goes afterwards, a path of our own (default `/account`).',
  query: z.object({
    next: z.string().optional().catch(undefined),
    invite: z.string().max(64).optional().catch(undefined),
  }),
  status: 302,
  errors: ['not_found'],
})

export const finishProvider = endpoint({
  method: 'get',
  path: '/api/membership/auth/oauth/{provider}/callback',
  who: 'anybody',
  about: 'Where the provider sends the browser back: on to `next`, signed in, or to `/sign-in?error={code}`.',
  status: 302,
  errors: ['not_found'],
})
