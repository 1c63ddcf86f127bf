/** Passkeys of operators, loaded by pages that offer one: asks the browser's authenticator, and sends the form with its answer. */
import { findElement, findElements } from '../page.ts'

/** Browsers without these methods, and pages that are not secure, keep the field for a code alone. */
export function setUpPasskeys(boxes: readonly HTMLElement[]): void {
  if (typeof globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON !== 'function') return
  for (const box of boxes) {
    box.hidden = false
    const button = findElement('button', HTMLButtonElement, box)
    button.addEventListener('click', () => void answer(box, button))
  }
  for (const hint of findElements('[data-passkey-missing]', HTMLElement)) hint.hidden = true
}

async function answer(box: HTMLElement, button: HTMLButtonElement): Promise<void> {
  const refusal = findElement('.field-error', HTMLElement, box)
  refusal.hidden = true
  button.disabled = true
  try {
    const purpose = box.dataset['passkey'] ?? ''
    const options = await fetchOptions(purpose)
    const credential = purpose === 'register' ? await createCredential(options) : await getCredential(options)
    if (!(credential instanceof PublicKeyCredential)) throw new Error('no credential')
    const field = findElement('input[name=passkey]', HTMLInputElement, box)
    field.value = JSON.stringify(serialize(credential))
    field.form?.requestSubmit()
  } catch (error) {
    refusal.textContent = box.dataset[toWords(error)] ?? ''
    refusal.hidden = false
  }
  button.disabled = false
}

/** A page that was open for long is signed out; a reload then leads to the sign-in. */
async function fetchOptions(purpose: string): Promise<unknown> {
  const response = await fetch('/api/membership/auth/passkeys/options', {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ purpose }),
  })
  if (response.status === 401) location.reload()
  if (!response.ok) throw new Error(`options: ${response.status}`)
  return (await response.json()).options
}

function createCredential(options: unknown): Promise<Credential | null> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options as PublicKeyCredentialCreationOptionsJSON)
  return navigator.credentials.create({ publicKey })
}

function getCredential(options: unknown): Promise<Credential | null> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options as PublicKeyCredentialRequestOptionsJSON)
  return navigator.credentials.get({ publicKey })
}

/** By hand: extensions of password managers replace the credential with one whose `toJSON` fails. */
function serialize({ id, rawId, type, response }: PublicKeyCredential): object {
  const clientDataJSON = toBase64Url(response.clientDataJSON)
  const parts =
    response instanceof AuthenticatorAttestationResponse
      ? { attestationObject: toBase64Url(response.attestationObject), transports: response.getTransports() }
      : response instanceof AuthenticatorAssertionResponse
        ? { authenticatorData: toBase64Url(response.authenticatorData), signature: toBase64Url(response.signature) }
        : {}
  return { id, rawId: toBase64Url(rawId), type, response: { clientDataJSON, ...parts } }
}

function toBase64Url(bytes: ArrayBuffer): string {
  const text = String.fromCharCode(...new Uint8Array(bytes))
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

/** The name of the words in the box. Browsers report a cancelled dialog and its timeout alike. */
function toWords(error: unknown): string {
  const name = error instanceof DOMException ? error.name : ''
  if (name === 'NotAllowedError' || name === 'AbortError') return 'cancelled'
  return name === 'InvalidStateError' ? 'known' : 'failed'
}
