/** The protocol of passkeys against an authenticator in software, whose answers are forged in each part. */
import t from 'tap'
import { createPasskeyProtocol } from '../../../src/access/passkey-protocol.ts'
import type { Passkey, PasskeyRefusal } from '../../../src/domain/identity/operators/passkeys.ts'
import { SoftwareAuthenticator } from '../../support/passkeys/software-authenticator.ts'
import type { Forgery } from '../../support/passkeys/software-authenticator.ts'

const site = 'https://svc.example'
const challenge = Buffer.alloc(32, 7)
const other = Buffer.alloc(32, 8).toString('base64url')
const options = { challenge: challenge.toString('base64url') }
const open = (getSite = () => site) => createPasskeyProtocol({ name: 'svc', getSite, random: (size) => Buffer.alloc(size, 7) })
const protocol = open()

async function register(authenticator: SoftwareAuthenticator, forgery: Forgery = {}) {
  const made = await protocol.verifyRegistration(authenticator.register(options, forgery), challenge)
  if (made.kind === 'refused') throw new Error(made.why)
  const passkey: Passkey = { id: 'psk_1', account: 'acc_1', name: 'phone', createdAt: 1, lastUsedAt: null, ...made }
  return passkey
}

t.test('a passkey is registered, and then proves its owner', async (t) => {
  const authenticator = new SoftwareAuthenticator(site)
  const passkey = await register(authenticator)
  t.match(passkey, { counter: 0, transports: ['internal'] })
  t.same(Buffer.from(passkey.credential), authenticator.credential)
  const prove = (counter: number, known = passkey) =>
    protocol.verifyAuthentication(authenticator.prove(options, { counter }), challenge, [known])
  t.match(await prove(0), { kind: 'verified', counter: 0 })
  t.match(await prove(9), { kind: 'verified', counter: 9 })
  for (const counter of [0, 8, 9])
    t.match(await prove(counter, { ...passkey, counter: 9 }), { kind: 'refused', why: 'counter' }, String(counter))
})

t.test('the options name the host of the configured address, and require that the user is verified', async (t) => {
  const passkey = await register(new SoftwareAuthenticator(site))
  const account = { id: 'acc_1', label: 'ann@example.com' }
  t.match(await protocol.describeRegistration(account, challenge, [passkey]), {
    rp: { id: 'svc.example', name: 'svc' },
    user: { name: 'ann@example.com' },
    challenge: options.challenge,
    attestation: 'none',
    excludeCredentials: [{ id: Buffer.from(passkey.credential).toString('base64url') }],
    authenticatorSelection: { userVerification: 'required' },
  })
  t.match(await protocol.describeAuthentication(challenge, [passkey]), {
    rpId: 'svc.example',
    challenge: options.challenge,
    userVerification: 'required',
    allowCredentials: [{ transports: ['internal'] }],
  })
})

const forgeries: readonly (readonly [title: string, forgery: Forgery, why: PasskeyRefusal])[] = [
  ['another challenge', { challenge: other }, 'challenge'],
  ['another origin', { origin: 'https://evil.example' }, 'origin'],
  ['http instead of https', { origin: 'http://svc.example' }, 'origin'],
  ['another port', { origin: 'https://svc.example:8443' }, 'origin'],
  ['another relying party', { rpId: 'example' }, 'origin'],
  ['a user who was not verified', { flags: 1 }, 'verification'],
  ['a user who is not present', { flags: 4 }, 'verification'],
]

t.test('a forged answer is refused, and for its reason', async (t) => {
  const authenticator = new SoftwareAuthenticator(site)
  const passkey = await register(authenticator)
  const prove = (answer: string) => protocol.verifyAuthentication(answer, challenge, [passkey])
  for (const [title, forgery, why] of forgeries) {
    t.same(await prove(authenticator.prove(options, forgery)), { kind: 'refused', why }, title)
    const attested = forgery.flags === undefined ? forgery : { flags: forgery.flags | 0x40 }
    const made = await protocol.verifyRegistration(authenticator.register(options, attested), challenge)
    t.same(made, { kind: 'refused', why }, `${title}, at registration`)
  }
  const crossed = { kind: 'refused', why: 'answer' }
  t.same(await prove(authenticator.prove(options, { type: 'webauthn.create' })), crossed)
  t.same(await prove(authenticator.register(options)), crossed, 'a registration is no proof')
  t.same(await protocol.verifyRegistration(authenticator.prove(options), challenge), crossed)
  const stranger = new SoftwareAuthenticator(site)
  t.same(await prove(stranger.prove(options)), { kind: 'refused', why: 'credential' })
  stranger.credential.set(authenticator.credential)
  t.same(await prove(stranger.prove(options)), crossed, 'the id of a passkey, and another key')
})

t.test('an answer that is none is refused, whatever it is', async (t) => {
  const passkey = await register(new SoftwareAuthenticator(site))
  const id = Buffer.from(passkey.credential).toString('base64url')
  const response = { clientDataJSON: 'eA', authenticatorData: 'eA', signature: 'eA', attestationObject: 'eA' }
  for (const answer of [
    '',
    'null',
    '[]',
    '{"id":1}',
    '['.repeat(10_000),
    JSON.stringify({ id, rawId: id, type: 'public-key', response }),
    JSON.stringify({ id, rawId: 'eA', type: 'public-key', response }),
    JSON.stringify({ id, rawId: id, type: 'password', response }),
    // A thousand arrays within one another, in CBOR.
    JSON.stringify({ id, rawId: id, type: 'public-key', response: { ...response, attestationObject: 'gYGB'.repeat(1000) } }),
    'x'.repeat(1_000_000),
  ]) {
    t.match(await protocol.verifyAuthentication(answer, challenge, [passkey]), { kind: 'refused' }, answer.slice(0, 40))
    t.match(await protocol.verifyRegistration(answer, challenge), { kind: 'refused', why: 'answer' }, answer.slice(0, 40))
  }
})

t.test('a certificate, whose addresses the library would fetch, is refused before it is read', async (t) => {
  const authenticator = new SoftwareAuthenticator(site)
  for (const format of ['packed', 'apple', 'android-key', 'tpm', 'fido-u2f', 'none'])
    t.same(
      await protocol.verifyRegistration(authenticator.register(options, { format, certificate: Buffer.alloc(8) }), challenge),
      { kind: 'refused', why: 'answer' },
      format,
    )
})

t.test('browsers allow passkeys at a name with https, and on this machine', async (t) => {
  for (const [address, isAvailable] of [
    ['https://svc.example', true],
    ['https://svc.example:8443', true],
    ['http://localhost:8080', true],
    ['http://svc.localhost', true],
    ['http://svc.example', false],
    ['http://127.0.0.1:8080', false],
    ['https://203.0.113.9', false],
    ['https://[2001:db8::1]', false],
  ] as const)
    t.equal(open(() => address).isAvailable(), isAvailable, address)
})
