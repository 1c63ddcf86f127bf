/** Sessions and the security log. */
import './site.ts'
import { formatCount, renderAddress, renderPastTime, renderTimestamp } from '../format.ts'
import { createElement, interpolate, findElement, getTexts } from '../page.ts'
import { callApi } from '../api-client.ts'
import { createEmptyState } from '../components/empty-state.ts'
import { loadCard } from '../components/request-state.ts'
import { createTable } from '../components/table.ts'
import type { AuditRecord, Session } from '../api-types.ts'

const texts = getTexts('sessions')
const events: Readonly<Record<string, string>> = texts.events
const status = findElement('[data-status]', HTMLElement)

const endOthers = findElement('[data-end-others]', HTMLButtonElement)
const keys = callApi('get', '/api/membership/auth/api-keys').then(
  ({ data }) => data,
  () => [],
)

void loadCard('sessions', loadSessions).then(loadAudit)
endOthers.addEventListener('click', () => {
  endOthers.disabled = true
  const end = async (): Promise<HTMLElement> => {
    const { ended_sessions: ended } = await callApi('post', '/api/membership/auth/sessions/end-others')
    status.textContent = interpolate(texts.endedCount, { sessions: formatCount('sessions', ended) })
    return loadSessions()
  }
  void loadCard('sessions', end, loadSessions).then(loadAudit)
})

/** Named after what still exists; the log itself keeps no names. */
function loadAudit(): Promise<void> {
  return loadCard('audit', async () => {
    const [{ data }, { data: sessions }, keyList] = await Promise.all([
      callApi('get', '/api/membership/audit'),
      callApi('get', '/api/membership/auth/sessions'),
      keys,
    ])
    const names = new Map<string, string>()
    for (const { id, client, kind } of sessions) names.set(id, client ?? texts[kind])
    for (const { id, name, prefix } of keyList) names.set(id, `${name} (${prefix}…)`)
    return renderAudit(data, names)
  })
}

async function loadSessions(): Promise<HTMLElement> {
  const { data } = await callApi('get', '/api/membership/auth/sessions')
  endOthers.disabled = data.every(({ current }) => current)
  return renderSessions(data)
}

function renderSessions(list: readonly Session[]): HTMLElement {
  if (list.length === 0) return createEmptyState('list', texts.empty)
  return createTable(
    texts.title,
    [texts.device, texts.address, texts.started, texts.lastSeen, { content: texts.end, hidden: true }],
    list.map((session) => [
      createElement(
        'span',
        { class: 'session-name' },
        createElement('span', { class: `badge ${session.kind === 'cli' ? 'flagship' : 'light'}` }, texts[session.kind]),
        createElement('span', {}, session.client),
        session.current && createElement('span', { class: 'badge good' }, texts.current),
      ),
      renderAddress(session.address),
      renderTimestamp(session.created_at),
      renderPastTime(session.last_used_at),
      { content: createEndButton(session), class: 'end' },
    ]),
  )
}

function createEndButton(session: Session): HTMLElement | null {
  // This one is ended by signing out, at the top of the page.
  if (session.current) return null
  return createElement(
    'button',
    {
      class: 'button danger-quiet small',
      type: 'button',
      'aria-label': interpolate(texts.endName, { name: session.client ?? session.kind }),
      onclick: () => endSession(session),
    },
    texts.end,
  )
}

async function endSession({ id }: Session): Promise<void> {
  const end = async (): Promise<HTMLElement> => {
    await callApi('delete', '/api/membership/auth/sessions/{id}', { params: { id } })
    status.textContent = texts.ended
    return loadSessions()
  }
  await loadCard('sessions', end, loadSessions)
}

/** Two lines an entry: what happened to what, then when and from where. */
function renderAudit(list: readonly AuditRecord[], names: ReadonlyMap<string, string>): HTMLElement {
  if (list.length === 0) return createElement('p', { class: 'sub pad-rest' }, texts.auditEmpty)
  return createElement(
    'ul',
    { class: 'rows', role: 'list' },
    ...list.map((record) => {
      const subject = describeSubject(record, names)
      return createElement(
        'li',
        { class: 'log-row' },
        createElement(
          'p',
          { class: 'row-line' },
          createElement('span', {}, events[record.event] ?? record.event),
          subject !== null && createElement('strong', { class: 'row-cut' }, subject),
        ),
        createElement(
          'p',
          { class: 'row-line sub' },
          renderTimestamp(record.at),
          record.address !== null && renderAddress(record.address),
          record.request_id !== null && createElement('code', { class: 'row-cut row-end' }, record.request_id),
        ),
      )
    }),
  )
}

/** Which key, device or plan the entry is about; null if it is about the account. */
function describeSubject({ detail }: AuditRecord, names: ReadonlyMap<string, string>): string | null {
  if (detail === null) return null
  const { key, prefix, client, session, plan, provider, ended_sessions: ended } = detail
  if (typeof key === 'string') return names.get(key) ?? (typeof prefix === 'string' ? `${prefix}…` : null)
  if (typeof plan === 'string') return plan
  if (typeof provider === 'string') return provider
  if (typeof client === 'string') return client
  if (typeof session === 'string' && names.has(session)) return names.get(session) ?? null
  return typeof ended === 'number' ? interpolate(texts.endedCount, { sessions: formatCount('sessions', ended) }) : null
}
