/** Signing in and out by code, link, password and provider; changing the password; deleting the account. */
import { z } from 'zod'
import { passkeyPurposes } from '../../domain/identity/operators/passkeys.ts'
import { defineEndpoint } from '../endpoint.ts'
import {
  stripCodeSeparators,
  count,
  email,
  instant,
  invite,
  createListSchema,
  newPassword,
  ok,
  optionalText,
  password,
  seconds,
  text,
} from '../fields.ts'
import { session } from './sessions.ts'

/** Longer than any code. */
const maxCodeChars = 64

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

const sentResponse = z.strictObject({
  ok,
  sent: z.literal(true),
  delayed: z
    .boolean()
    .meta({ description: 'The mail server cannot be reached at the moment; the email is sent as soon as it can.' }),
  expires_in: seconds,
  resend_after: seconds,
})
const signedIn = z.strictObject({ ok, account, created: z.boolean(), invited: z.boolean() })
const link = text(maxCodeChars).meta({ description: "The token after `#` in the email's link." })

/** Reauthentication: the password, or the code of `auth/reauthenticate`. */
const reauthenticationFields = {
  current: password.nullish(),
  code: optionalText(maxCodeChars).transform((typed) => (typed === null ? null : stripCodeSeparators(typed))),
} as const

export const listProviders = defineEndpoint({
  method: 'get',
  path: '/api/membership/auth/providers',
  security: 'public',
  summary: 'Lists the OpenID Connect providers for sign-in.',
  response: createListSchema(z.strictObject({ id: z.string(), name: z.string(), start_url: z.url() })),
  errors: [],
})

export const startOtp = defineEndpoint({
  method: 'post',
  path: '/api/membership/auth/otp/start',
  security: 'same_site',
  summary: 'Sends an email with a code and a link; a short-lived HttpOnly cookie binds the code to this browser.',
  body: z.object({ email, invite }),
  response: sentResponse,
  errors: ['sign_in_method_disabled', 'invalid_request', 'temporarily_unavailable'],
})

export const verifyOtp = defineEndpoint({
  method: 'post',
  path: '/api/membership/auth/otp/verify',
  security: 'same_site',
  summary: 'Signs in with the code, creating the account if there is none; sets the session cookie.',
  body: z.object({ email, code: text(maxCodeChars).transform(stripCodeSeparators), invite }),
  response: signedIn,
  errors: ['sign_in_method_disabled', 'invalid_credentials', 'sign_up_closed', 'account_deletion_waiting'],
})

export const inspectMagicLink = defineEndpoint({
  method: 'post',
  path: '/api/membership/auth/magic-link/inspect',
  security: 'same_site',
  summary: 'Returns the masked address of the account; does not consume the link.',
  body: z.object({ link }),
  response: z.strictObject({ email_masked: z.string().nullable() }),
  errors: ['sign_in_method_disabled', 'invalid_credentials'],
})

export const verifyMagicLink = defineEndpoint({
  method: 'post',
  path: '/api/membership/auth/magic-link/verify',
  security: 'same_site',
  summary: "Signs in with an email's link: in any browser, once, within an hour; sets the session cookie.",
  body: z.object({ link }),
  response: signedIn,
  errors: ['sign_in_method_disabled', 'invalid_credentials', 'sign_up_closed', 'account_deletion_waiting'],
})

export const signUp = defineEndpoint({
  method: 'post',
  path: '/api/membership/auth/sign-up',
  security: 'same_site',
  summary: 'As `auth/otp/start`; the code then creates the account with this password.',
  body: z.object({ email, password: newPassword, invite }),
  response: sentResponse,
  errors: ['sign_in_method_disabled', 'invalid_request', 'sign_up_closed', 'temporarily_unavailable'],
})

export const signIn = defineEndpoint({
  method: 'post',
  path: '/api/membership/auth/sign-in',
  security: 'same_site',
  summary: 'Signs in with the password; sets the session cookie.',
  body: z.object({ email, password }),
  response: z.strictObject({ ok, account }),
  errors: ['sign_in_method_disabled', 'invalid_credentials'],
})

export const signOut = defineEndpoint({
  method: 'post',
  path: '/api/membership/auth/sign-out',
  security: 'session',
  summary:
    'Ends this session and clears the cookie; no body is needed. `provider_sign_out_url` is where the browser ends its session at the provider, where `signIn.providers.*.endSession` says so.',
  response: z.strictObject({ ok, provider_sign_out_url: z.url().nullable() }),
  errors: [],
})

export const showSession = defineEndpoint({
  method: 'get',
  path: '/api/membership/auth/session',
  security: 'session',
  summary: 'Returns the signed-in account and its session.',
  response: z.strictObject({ account, session }),
  errors: [],
})

export const startReauthentication = defineEndpoint({
  method: 'post',
  path: '/api/membership/auth/reauthenticate',
  security: 'session_cookie',
  summary: 'Emails the account a code that confirms a change in this session; it cannot be used to sign in. No body is needed.',
  response: sentResponse,
  errors: ['temporarily_unavailable'],
})

export const changePassword = defineEndpoint({
  method: 'post',
  path: '/api/membership/auth/password',
  security: 'session_cookie',
  summary: 'Sets a password, ends all other sessions, and gives this one a new cookie.',
  body: z.object({ password: newPassword, ...reauthenticationFields }),
  response: z.strictObject({ ok, ended_sessions: count }),
  errors: ['sign_in_method_disabled', 'invalid_request', 'invalid_credentials', 'reauthentication_required'],
})

export const startEmailChange = defineEndpoint({
  method: 'post',
  path: '/api/membership/auth/email/start',
  security: 'session_cookie',
  summary: 'Emails a code to the address that the account shall have.',
  body: z.object({ email, ...reauthenticationFields }),
  response: sentResponse,
  errors: ['invalid_request', 'invalid_credentials', 'reauthentication_required', 'temporarily_unavailable'],
})

export const changeEmail = defineEndpoint({
  method: 'post',
  path: '/api/membership/auth/email',
  security: 'session_cookie',
  summary: "Changes the account's address with the code of `auth/email/start`; the old address is notified.",
  body: z.object({ email, code: text(maxCodeChars).transform(stripCodeSeparators) }),
  response: z.strictObject({ ok, account }),
  errors: ['invalid_credentials'],
})

export const deleteAccount = defineEndpoint({
  method: 'post',
  path: '/api/membership/auth/delete-account',
  security: 'session_cookie',
  summary:
    "Deletes the account's personal data; the ledger stays. `confirm` is the account's own address. Clears the cookie. `deleted` is false where the payment provider has to end a renewal first: the account is disabled until then, and an email confirms the deletion.",
  body: z.object({ confirm: email, ...reauthenticationFields }),
  response: z.strictObject({ ok, deleted: z.boolean() }),
  errors: ['invalid_request', 'invalid_credentials', 'reauthentication_required'],
})

export const startProvider = defineEndpoint({
  method: 'get',
  path: '/api/membership/auth/oauth/{provider}/start',
  security: 'public',
  summary:
    'Redirects to the provider. `next` is the path on this site to return to (default `/account`). From a page of another site it asks a signed-in member first.',
  query: z.object({
    next: z.string().optional().catch(undefined),
    invite: z.string().max(64).optional().catch(undefined),
  }),
  status: 302,
  errors: ['not_found'],
})

export const finishProvider = defineEndpoint({
  method: 'get',
  path: '/api/membership/auth/oauth/{provider}/callback',
  security: 'public',
  summary: 'Redirect target of the provider: signs in and redirects to `next`, or to `/sign-in?error={code}`.',
  status: 302,
  errors: ['not_found'],
})

export const createPasskeyOptions = defineEndpoint({
  method: 'post',
  path: '/api/membership/auth/passkeys/options',
  security: 'session_cookie',
  summary: "Returns what a page of the console shows the browser's authenticator (WebAuthn), with a challenge that is good once.",
  body: z.object({
    purpose: z.enum(passkeyPurposes).meta({
      description:
        '`sign_in`: to the console; `step_up`: a fresh proof in it; `register`: a new passkey, which needs a fresh proof.',
    }),
  }),
  response: z.strictObject({ ok, options: z.looseObject({ challenge: z.string() }) }),
  errors: ['not_found', 'step_up_required'],
})
