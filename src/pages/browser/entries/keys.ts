/** Keys: made, shown once, listed, revoked after a question. */
import './site.ts'
import { formatCount, formatPastTime, renderDate } from '../format.ts'
import { createCodeBlock, createElement, interpolate, findElement, getProps, getTexts, language } from '../page.ts'
import { callApi } from '../api-client.ts'
import { createEmptyState } from '../components/empty-state.ts'
import { insertNode, loadCard, onSubmit } from '../components/request-state.ts'
import type { ClientSetup } from '../../../setup/client-setup.ts'
import { createClientSetups } from '../../../setup/client-setups.ts'
import type { Key } from '../api-types.ts'

const texts = getTexts('keys')
const { facts } = getProps('keys')
const dialog = findElement('[data-revoke]', HTMLDialogElement)
const status = findElement('[data-status]', HTMLElement)
const created = findElement('[data-created]', HTMLElement)
const form = findElement('[data-form=create]', HTMLFormElement)

void refresh()

onSubmit(form, async (typed) => {
  const days = typed('expires_in_days')
  const name = typed('name').trim()
  const key = await callApi('post', '/api/membership/auth/api-keys', {
    body: { name, ...(days === '' ? {} : { expires_in_days: Number(days) }) },
  })
  form.reset()
  showToken(key.token)
  await refresh()
})

function refresh(): Promise<void> {
  return loadCard('keys', loadKeys)
}

async function loadKeys(): Promise<HTMLElement[]> {
  return renderKeys((await callApi('get', '/api/membership/auth/api-keys')).data)
}

/** The key is on the screen only now, so its settings for each program are here. */
function showToken(token: string): void {
  const setups = createClientSetups({ ...facts, key: token })
  const settings = createElement('div', { class: 'setup' })
  const choice: HTMLSelectElement = createElement(
    'select',
    { id: 'setup-choice', onchange: () => settings.replaceChildren(...renderSetup(setups[choice.selectedIndex], token)) },
    ...setups.map(({ name }) => createElement('option', {}, name)),
    createElement('option', {}, 'curl'),
  )
  settings.replaceChildren(...renderSetup(setups[0], token))
  const title = createElement('h3', { tabindex: '-1' }, texts.createdTitle)
  created.replaceChildren(
    createElement(
      'div',
      { class: 'created' },
      title,
      createElement('p', {}, texts.createdLead),
      createCodeBlock(texts.key, token),
      createElement('div', { class: 'field' }, createElement('label', { for: 'setup-choice' }, texts.setUp), choice),
      settings,
      createElement(
        'button',
        { class: 'button quiet small', type: 'button', onclick: () => created.replaceChildren() },
        texts.done,
      ),
    ),
  )
  title.focus()
}

/** Without a setup: a request with curl. */
function renderSetup(setup: ClientSetup | undefined, token: string): Node[] {
  if (setup === undefined) return [createCodeBlock('curl', createRequest(token))]
  const { files, dialog, fields, snippets, notes } = setup
  return [
    ...(dialog === undefined ? [] : [createElement('p', { class: 'sub' }, dialog[language])]),
    ...(fields.length === 0
      ? []
      : [
          createElement(
            'dl',
            { class: 'facts' },
            ...fields.flatMap(({ label, value }) => [
              createElement('dt', {}, label),
              createElement('dd', {}, createElement('code', {}, value)),
            ]),
          ),
        ]),
    ...files.map(({ path, text }) => createCodeBlock(path, text)),
    ...snippets.map(({ title, text }) => createCodeBlock(title, text)),
    ...(notes.length === 0
      ? []
      : [
          createElement(
            'ul',
            { class: 'setup-notes', role: 'list' },
            ...notes.map((note) => createElement('li', {}, note[language])),
          ),
        ]),
  ]
}

function createRequest(token: string): string {
  return `curl ${facts.apiUrl}/v1/chat/completions \\
  -H "Authorization: Bearer ${token}" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "${facts.fast.id}", "messages": [{"role": "user", "content": "Hello"}]}'`
}

/** Two lines a key; keys that no longer work are behind a fold. */
function renderKeys(keys: readonly Key[]): HTMLElement[] {
  if (keys.length === 0) return [createEmptyState('key', texts.empty)]
  const ended = keys.filter(isEnded)
  const live = keys.filter((key) => !isEnded(key))
  return [
    live.length === 0 ? createEmptyState('key', texts.empty) : renderRows(live),
    ...(ended.length === 0
      ? []
      : [
          createElement(
            'details',
            { class: 'fold turn-filter' },
            createElement('summary', {}, interpolate(texts.ended, { count: ended.length })),
            renderRows(ended),
          ),
        ]),
  ]
}

function isEnded({ revoked_at: revokedAt, expires_at: expiresAt }: Key): boolean {
  return revokedAt !== null || (expiresAt !== null && new Date(expiresAt).getTime() <= Date.now())
}

function renderRows(keys: readonly Key[]): HTMLElement {
  return createElement('ul', { class: 'rows', role: 'list' }, ...keys.map(renderKey))
}

function renderKey(key: Key): HTMLElement {
  const { id, name, prefix, last4, created_at: createdAt, last_used_at: lastUsedAt, usage } = key
  const used = { turns: formatCount('turns', usage.turns), credits: formatCount('credits', usage.credits) }
  const title = createElement('strong', { class: 'row-cut' }, name)
  return createElement(
    'li',
    { class: 'key-row' },
    createElement(
      'div',
      { class: 'key-facts' },
      createElement('p', { class: 'row-line' }, title, createElement('code', { class: 'sub nowrap' }, `${prefix}…${last4}`)),
      createElement(
        'p',
        { class: 'sub' },
        lastUsedAt === null ? texts.neverUsed : interpolate(texts.usedWhen, { when: formatPastTime(lastUsedAt) }),
        ' · ',
        usage.turns === 0
          ? texts.noUsage
          : createElement('a', { href: `/account?credential=${encodeURIComponent(id)}` }, interpolate(texts.usage, used)),
        ' · ',
        ...insertNode(texts.createdOn, '{date}', renderDate(createdAt)),
        ' · ',
        renderExpiry(key),
      ),
    ),
    !isEnded(key) && createElement('div', { class: 'actions' }, createRenameButton(key, title), createRevokeButton(key)),
  )
}

function createRenameButton({ id, name }: Key, title: HTMLElement): HTMLElement {
  return createElement(
    'button',
    {
      class: 'button quiet small',
      type: 'button',
      'aria-label': interpolate(texts.renameName, { name }),
      onclick: () => {
        const field = createElement('input', {
          maxlength: 64,
          required: true,
          value: name,
          'aria-label': texts.name,
          id: `name-${id}`,
        })
        const form: HTMLFormElement = createElement(
          'form',
          { class: 'rename-form', method: 'post', novalidate: true },
          createElement('div', { class: 'field' }, field),
          createElement('button', { class: 'button small' }, texts.save),
          createElement(
            'button',
            { class: 'button quiet small', type: 'button', onclick: () => form.replaceWith(title) },
            texts.cancel,
          ),
          createElement('div', { 'data-outcome': '' }),
        )
        onSubmit(form, async () => {
          await callApi('patch', '/api/membership/auth/api-keys/{id}', { params: { id }, body: { name: field.value.trim() } })
          status.textContent = texts.renamed
          await refresh()
        })
        title.replaceWith(form)
        field.select()
      },
    },
    texts.rename,
  )
}

function renderExpiry({ expires_at: expiresAt, revoked_at: revokedAt }: Key): Node | string {
  if (revokedAt !== null) return createElement('span', { class: 'badge bad' }, texts.revoked)
  if (expiresAt === null) return texts.neverExpires
  if (new Date(expiresAt).getTime() <= Date.now()) return createElement('span', { class: 'badge bad' }, texts.expired)
  return createElement('span', {}, ...insertNode(texts.expiresOn, '{date}', renderDate(expiresAt)))
}

function createRevokeButton(key: Key): HTMLElement {
  return createElement(
    'button',
    {
      class: 'button danger-quiet small',
      type: 'button',
      'aria-label': interpolate(texts.revokeName, { name: key.name }),
      onclick: () => confirmRevocation(key),
    },
    texts.revoke,
  )
}

async function confirmRevocation({ id, name }: Key): Promise<void> {
  findElement('[data-title]', HTMLElement, dialog).textContent = interpolate(texts.revokeAsk, { name })
  dialog.returnValue = 'no'
  dialog.showModal()
  await new Promise((resolve) => {
    dialog.addEventListener('close', resolve, { once: true })
  })
  if (dialog.returnValue !== 'yes') return
  const revoke = async (): Promise<HTMLElement[]> => {
    await callApi('delete', '/api/membership/auth/api-keys/{id}', { params: { id } })
    status.textContent = interpolate(texts.revokedNow, { name })
    return loadKeys()
  }
  await loadCard('keys', revoke, loadKeys)
}
