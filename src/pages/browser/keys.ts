/** Keys: made, shown once, listed, revoked after a question. */
import { day, fromNow, moment } from './figures.ts'
import { codeBlock, element, fill, find, told, words } from './page.ts'
import { call } from './service.ts'
import { onSubmit, show } from './show.ts'
import { table } from './table.ts'
import type { Key } from './wire.ts'

const texts = words('keys')
const { base, model } = told('keys')
const dialog = find('[data-revoke]', HTMLDialogElement)
const status = find('[data-status]', HTMLElement)
const created = find('[data-created]', HTMLElement)
const form = find('[data-form=create]', HTMLFormElement)

void refresh()

onSubmit(form, async (typed) => {
  const days = typed('expires_in_days')
  const name = typed('name').trim()
  const key = await call('post', '/api/membership/auth/api-keys', {
    body: { name, ...(days === '' ? {} : { expires_in_days: Number(days) }) },
  })
  form.reset()
  reveal(key.token)
  await refresh()
})

function refresh(): Promise<void> {
  return show('keys', load)
}

async function load(): Promise<HTMLElement> {
  return list((await call('get', '/api/membership/auth/api-keys')).data)
}

function reveal(token: string): void {
  const curl = `curl ${base}/v1/chat/completions \\
  -H "Authorization: Bearer ${token}" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "${model}", "messages": [{"role": "user", "content": "Hello"}]}'`
  const title = element('h3', { tabindex: '-1' }, texts.createdTitle)
  created.replaceChildren(
    element(
      'div',
      { class: 'created' },
      title,
      element('p', {}, texts.createdLead),
      codeBlock(texts.key, token),
      element('details', { class: 'fold' }, element('summary', {}, texts.tryIt), codeBlock('curl', curl)),
      element('button', { class: 'button quiet small', type: 'button', onclick: () => created.replaceChildren() }, texts.done),
    ),
  )
  title.focus()
}

function list(keys: readonly Key[]): HTMLElement {
  if (keys.length === 0) return element('p', { class: 'sub pad-rest' }, texts.empty)
  return table(
    texts.listTitle,
    [texts.name, texts.key, texts.created, texts.lastUsed, texts.expires, { content: texts.actions, hidden: true }],
    keys.map((key) => [
      key.name,
      element('code', { class: 'nowrap' }, `${key.prefix}…${key.last4}`),
      day(key.created_at),
      key.last_used_at === null ? element('span', { class: 'sub' }, texts.neverUsed) : fromNow(key.last_used_at),
      expiry(key),
      { content: action(key), class: 'end' },
    ]),
  )
}

function expiry({ expires_at: expiresAt, revoked_at: revokedAt }: Key): HTMLElement {
  if (revokedAt !== null) return element('span', { class: 'badge bad' }, texts.revoked)
  if (expiresAt === null) return element('span', { class: 'sub' }, texts.never)
  if (new Date(expiresAt).getTime() <= Date.now()) return element('span', { class: 'badge bad' }, texts.expired)
  return moment(expiresAt)
}

function action(key: Key): HTMLElement | null {
  if (key.revoked_at !== null) return null
  return element(
    'button',
    {
      class: 'button danger-quiet small',
      type: 'button',
      'aria-label': fill(texts.revokeName, { name: key.name }),
      onclick: () => revoke(key),
    },
    texts.revoke,
  )
}

async function revoke({ id, name }: Key): Promise<void> {
  find('[data-title]', HTMLElement, dialog).textContent = fill(texts.revokeAsk, { name })
  dialog.returnValue = 'no'
  dialog.showModal()
  await new Promise((resolve) => {
    dialog.addEventListener('close', resolve, { once: true })
  })
  if (dialog.returnValue !== 'yes') return
  await show('keys', async () => {
    await call('delete', '/api/membership/auth/api-keys/{id}', { params: { id } })
    status.textContent = fill(texts.revokedNow, { name })
    return load()
  })
}
