/** Sessions and the security log. */
import { fromNow, moment } from './figures.ts'
import { element, fill, find, words } from './page.ts'
import { call } from './service.ts'
import { show } from './show.ts'
import { table } from './table.ts'
import type { AuditRecord, Session } from './wire.ts'

const texts = words('sessions')
const events: Readonly<Record<string, string>> = texts.events
const status = find('[data-status]', HTMLElement)

void show('sessions', load)
void show('audit', async () => audit((await call('get', '/api/membership/audit')).data))

async function load(): Promise<HTMLElement> {
  return sessions((await call('get', '/api/membership/auth/sessions')).data)
}

function sessions(list: readonly Session[]): HTMLElement {
  if (list.length === 0) return element('p', { class: 'sub pad-rest' }, texts.empty)
  return table(
    texts.title,
    [texts.device, texts.address, texts.started, texts.lastSeen, { content: texts.end, hidden: true }],
    list.map((session) => [
      element(
        'span',
        { class: 'session-name' },
        element('span', { class: `badge ${session.kind === 'cli' ? 'flagship' : 'light'}` }, texts[session.kind]),
        element('span', {}, session.client),
        session.current && element('span', { class: 'badge good' }, texts.current),
      ),
      element('code', {}, session.address),
      moment(session.created_at),
      fromNow(session.last_used_at),
      { content: action(session), class: 'end' },
    ]),
  )
}

function action(session: Session): HTMLElement | null {
  // This one is ended by signing out, at the top of the page.
  if (session.current) return null
  return element(
    'button',
    {
      class: 'button danger-quiet small',
      type: 'button',
      'aria-label': fill(texts.endName, { name: session.client ?? session.kind }),
      onclick: () => end(session),
    },
    texts.end,
  )
}

async function end({ id }: Session): Promise<void> {
  await show('sessions', async () => {
    await call('delete', '/api/membership/auth/sessions/{id}', { params: { id } })
    status.textContent = texts.ended
    return load()
  })
}

function audit(list: readonly AuditRecord[]): HTMLElement {
  if (list.length === 0) return element('p', { class: 'sub pad-rest' }, texts.auditEmpty)
  return table(
    texts.auditTitle,
    [texts.event, texts.time, texts.address, texts.reference],
    list.map(({ event, at, address, request_id: requestId }) => [
      events[event] ?? event,
      moment(at),
      element('code', {}, address),
      element('code', { class: 'sub' }, requestId),
    ]),
  )
}
