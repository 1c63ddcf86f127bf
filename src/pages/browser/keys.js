/** Keys: made, shown once, listed, revoked after a question. */
import { codeBlock, day, element, fill, find, fromNow, membership, moment, onSubmit, page, show, table, texts } from './page.js'

const words = texts.keys
const dialog = find('[data-revoke]')
const status = find('[data-status]')
const created = find('[data-created]')

refresh()

onSubmit(find('[data-form=create]'), async ({ name, expires_in_days: days }) => {
  const key = await membership('POST', 'auth/api-keys', {
    name: name.trim(),
    ...(days === '' ? {} : { expires_in_days: Number(days) }),
  })
  find('[data-form=create]').reset()
  reveal(key)
  await refresh()
})

function refresh() {
  return show('keys', async () => list((await membership('GET', 'auth/api-keys')).data))
}

function reveal({ token }) {
  const curl = `curl ${page.base}/v1/chat/completions \\
  -H "Authorization: Bearer ${token}" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "${page.model}", "messages": [{"role": "user", "content": "Hello"}]}'`
  const title = element('h3', { tabindex: '-1' }, words.createdTitle)
  created.replaceChildren(
    element(
      'div',
      { class: 'created' },
      title,
      element('p', {}, words.createdLead),
      codeBlock(words.key, token),
      element('details', { class: 'fold' }, element('summary', {}, words.tryIt), codeBlock('curl', curl)),
      element('button', { class: 'button quiet small', type: 'button', onclick: () => created.replaceChildren() }, words.done),
    ),
  )
  title.focus()
}

function list(keys) {
  if (keys.length === 0) return element('p', { class: 'sub pad-rest' }, words.empty)
  return table(
    words.listTitle,
    [words.name, words.key, words.created, words.lastUsed, words.expires, { content: words.actions, hidden: true }],
    keys.map((key) => [
      key.name,
      element('code', { class: 'nowrap' }, `${key.prefix}…${key.last4}`),
      day(key.created_at),
      key.last_used_at === null ? element('span', { class: 'sub' }, words.neverUsed) : fromNow(key.last_used_at),
      expiry(key),
      { content: action(key), class: 'end' },
    ]),
  )
}

function expiry({ expires_at: expiresAt, revoked_at: revokedAt }) {
  if (revokedAt !== null) return element('span', { class: 'badge bad' }, words.revoked)
  if (expiresAt === null) return element('span', { class: 'sub' }, words.never)
  if (new Date(expiresAt).getTime() <= Date.now()) return element('span', { class: 'badge bad' }, words.expired)
  return moment(expiresAt)
}

function action(key) {
  if (key.revoked_at !== null) return ''
  return element(
    'button',
    {
      class: 'button danger-quiet small',
      type: 'button',
      'aria-label': fill(words.revokeName, { name: key.name }),
      onclick: () => revoke(key),
    },
    words.revoke,
  )
}

async function revoke({ id, name }) {
  find('[data-title]', dialog).textContent = fill(words.revokeAsk, { name })
  dialog.returnValue = 'no'
  dialog.showModal()
  await new Promise((resolve) => {
    dialog.addEventListener('close', resolve, { once: true })
  })
  if (dialog.returnValue !== 'yes') return
  await show('keys', async () => {
    await membership('DELETE', `auth/api-keys/${encodeURIComponent(id)}`)
    status.textContent = fill(words.revokedNow, { name })
    return list((await membership('GET', 'auth/api-keys')).data)
  })
}
