/** The schema of `signIn` in `gateway.config.ts`: providers, sign-up and mail addresses. */
import { z } from 'zod'
import { groupRoles } from '../../domain/identity/operators/operator-role.ts'
import type { GroupRole } from '../../domain/identity/operators/operator-role.ts'
import { signUpModes } from '../../domain/identity/sign-up-rules.ts'
import { exactUrlSchema, secretSchema, urlSchema } from './value-schemas.ts'

export const signInSchema = z
  .strictObject({
    /** OpenID Connect providers, by the name in their URL. */
    providers: z
      .record(
        z.string().regex(/^[a-z][a-z0-9-]{0,31}$/),
        z.strictObject({
          /** On the sign-in button. */
          name: z.string().min(1),
          /** The provider's issuer identifier; its metadata is read from there. */
          issuer: urlSchema,
          /** As registered at the provider. */
          clientId: z.string().min(1),
          /** Null for a public client. */
          clientSecret: secretSchema.nullable().default(null),
          /** How the secret is sent. `auto`: in the Authorization header, or in the body where the provider accepts that alone. */
          clientAuth: z.enum(['auto', 'client_secret_basic', 'client_secret_post']).default('auto'),
          /** Must give a verified email. */
          scopes: z.array(z.string()).default(['openid', 'email', 'profile']),
          /**
           * Whether signing out here also ends the session at the provider (RP-initiated logout). Register `{SITE_URL}/` there as the
           * address to return to.
           */
          endSession: z.boolean().default(false),
          /**
           * Groups of the provider that make members operators, or give them a plan. Both are read at each sign-in with the provider, the
           * first match of each counts, and they lapse 12 hours after the last one. Owners are made by hand.
           */
          groups: z
            .strictObject({
              /** The claim of the ID token, or of the userinfo endpoint, that lists the groups. */
              claim: z.string().min(1).default('groups'),
              /** Group names with their role. */
              roles: z.record(z.string().min(1), z.enum(groupRoles as [GroupRole, ...GroupRole[]])).default({}),
              /** Group names with their plan. It applies where it is higher than what the member bought, redeemed or was given. */
              plans: z.record(z.string().min(1), z.string()).default({}),
            })
            .nullable()
            .default(null),
        }),
      )
      .default({}),
    /**
     * Issuers whose JWTs the API accepts as bearer tokens, for an identity provider of your own. Accounts created this way get `plan`.
     */
    jwtIssuers: z
      .array(
        z.strictObject({
          /** Must equal the token's `iss`. */
          issuer: urlSchema,
          /** Must be in the token's `aud`. */
          audience: z.string().min(1),
          /** Where the issuer's public keys are. */
          jwksUrl: exactUrlSchema,
          /** Plan of an account that the first such token creates. */
          plan: z.string(),
        }),
      )
      .default([]),
    /** Whether the providers are the only way in: no emailed codes and links, no passwords, and no sign-up by email. */
    providersOnly: z.boolean().default(false),
    /**
     * Whether addresses that differ in a `+tag` or, at Gmail, in dots are one person: for the limits of sign-in attempts (at providers where
     * they surely share a mailbox), and for boosts, invitations and the usage that a deleted account leaves. It never joins accounts.
     */
    mergeAliases: z.boolean().default(true),
    /** Who may create an account: anyone, holders of a member's invitation, or only the operator. Existing members can always sign in. */
    signUp: z.enum(signUpModes).default('open'),
    /** Domains of email addresses that may sign up; empty: any. */
    allowedDomains: z.array(z.string()).default([]),
    /** Addresses of these domains may not sign up. */
    blockedDomains: z.array(z.string()).default([]),
    /** Whether throw-away email domains may not sign up. */
    blockDisposable: z.boolean().default(true),
  })
  .prefault({})
