/** The protocol of passkeys (WebAuthn), by `@simplewebauthn/server`, which is loaded at the first use: it takes 0.25 s and 24 MB. */
import { isIP } from 'node:net'
import type { AuthenticatorTransport } from '@simplewebauthn/server'
import { z } from 'zod'
import type { Passkey, PasskeyProtocol, PasskeyRefusal } from '../domain/identity/operators/passkeys.ts'
import { parseJson } from '../system/parse-json.ts'

const challengeBytes = 32
const maxAnswerChars = 16_384
/** How long a browser waits for its user. */
const timeoutMs = 5 * 60_000

const base64Url = z.string().regex(/^[\w-]+$/)
const authentication = z.object({
  id: base64Url.max(1364),
  rawId: base64Url,
  type: z.literal('public-key'),
  response: z.object({ clientDataJSON: base64Url, authenticatorData: base64Url, signature: base64Url }),
})
const registration = z.object({
  id: base64Url.max(1364),
  rawId: base64Url,
  type: z.literal('public-key'),
  response: z.object({
    clientDataJSON: base64Url,
    attestationObject: base64Url,
    transports: z
      .array(z.string().regex(/^[a-z-]{1,16}$/))
      .max(8)
      .default([]),
  }),
})

export function createPasskeyProtocol({
  name,
  getSite,
  random,
}: {
  /** The service's name in the authenticator. */
  readonly name: string
  /** The public address, never the request's `Host`: a page at another address proves nothing. */
  readonly getSite: () => string
  readonly random: (size: number) => Uint8Array
}): PasskeyProtocol {
  const getHost = (): string => new URL(getSite()).hostname
  const expect = (challenge: Uint8Array) => ({
    expectedChallenge: toBase64Url(challenge),
    expectedOrigin: new URL(getSite()).origin,
    expectedRPID: getHost(),
    requireUserVerification: true,
  })
  return {
    isAvailable() {
      const { protocol, hostname } = new URL(getSite())
      if (isIP(hostname.replaceAll(/[[\]]/g, '')) !== 0) return false
      return protocol === 'https:' || hostname === 'localhost' || hostname.endsWith('.localhost')
    },

    createChallenge: () => random(challengeBytes),

    async describeRegistration({ id, label }, challenge, known) {
      const { generateRegistrationOptions } = await import('@simplewebauthn/server')
      const options = await generateRegistrationOptions({
        rpName: name,
        rpID: getHost(),
        userID: Uint8Array.from(Buffer.from(id)),
        userName: label,
        challenge: Uint8Array.from(challenge),
        timeout: timeoutMs,
        attestationType: 'none',
        excludeCredentials: known.map(toDescriptor),
        authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
      })
      return { ...options }
    },

    async verifyRegistration(answer, challenge) {
      try {
        const response = registration.parse(parseJson(answer, { maxLength: maxAnswerChars }))
        const [{ verifyRegistrationResponse }, { decodeAttestationObject }] = await Promise.all([
          import('@simplewebauthn/server'),
          import('@simplewebauthn/server/helpers'),
        ])
        const attestation = decodeAttestationObject(
          Uint8Array.from(Buffer.from(response.response.attestationObject, 'base64url')),
        )
        // A certificate was not asked for, and the library would fetch the addresses in it from here.
        if (attestation.get('fmt') !== 'none' && attestation.get('attStmt').get('x5c') !== undefined)
          return { kind: 'refused', why: 'answer' }
        if (!['none', 'packed'].includes(attestation.get('fmt'))) return { kind: 'refused', why: 'answer' }
        const { verified, registrationInfo } = await verifyRegistrationResponse({
          response: { ...response, response: { ...response.response, transports: [] }, clientExtensionResults: {} },
          ...expect(challenge),
        })
        if (!verified) return { kind: 'refused', why: 'answer' }
        const { id, publicKey, counter } = registrationInfo.credential
        const { transports } = response.response
        return { kind: 'new', credential: Buffer.from(id, 'base64url'), publicKey, counter, transports }
      } catch (thrown) {
        return { kind: 'refused', why: toRefusal(thrown) }
      }
    },

    async describeAuthentication(challenge, known) {
      const { generateAuthenticationOptions } = await import('@simplewebauthn/server')
      const options = await generateAuthenticationOptions({
        rpID: getHost(),
        challenge: Uint8Array.from(challenge),
        timeout: timeoutMs,
        allowCredentials: known.map(toDescriptor),
        userVerification: 'required',
      })
      return { ...options }
    },

    async verifyAuthentication(answer, challenge, known) {
      try {
        const response = authentication.parse(parseJson(answer, { maxLength: maxAnswerChars }))
        const credential = Buffer.from(response.id, 'base64url')
        const passkey = known.find((each) => credential.equals(each.credential))
        if (passkey === undefined) return { kind: 'refused', why: 'credential' }
        const { verifyAuthenticationResponse } = await import('@simplewebauthn/server')
        const { publicKey, counter } = passkey
        const { verified, authenticationInfo } = await verifyAuthenticationResponse({
          response: { ...response, clientExtensionResults: {} },
          ...expect(challenge),
          credential: { id: response.id, publicKey: Uint8Array.from(publicKey), counter },
        })
        if (!verified) return { kind: 'refused', why: 'answer' }
        return { kind: 'verified', passkey, counter: authenticationInfo.newCounter }
      } catch (thrown) {
        return { kind: 'refused', why: toRefusal(thrown) }
      }
    },
  }
}

function toDescriptor({ credential, transports }: Passkey) {
  // The library's type lists the transports of today, and browsers ignore the ones that they do not have.
  return { id: toBase64Url(credential), transports: [...transports] as AuthenticatorTransport[] }
}

function toBase64Url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url')
}

/** The library has plain errors, so their words tell them apart; a test has each of them. */
function toRefusal(thrown: unknown): PasskeyRefusal {
  const message = thrown instanceof Error ? thrown.message : ''
  if (/response challenge "/.test(message)) return 'challenge'
  if (/response origin "|RP ID/i.test(message)) return 'origin'
  if (/counter value/.test(message)) return 'counter'
  if (/User verification (?:was )?required|not present/.test(message)) return 'verification'
  return 'answer'
}
