/** The style guide: the components that scripts make. */
import './site.ts'
import { setUpDrawer } from '../components/drawer.ts'
import { createEmptyState } from '../components/empty-state.ts'
import { createIconButton } from '../components/icon.ts'
import { createPager } from '../components/pager.ts'
import { createStat } from '../components/usage/stat.ts'
import { showToast } from '../components/toast.ts'
import { createElement, findElement, findElements, getTexts } from '../page.ts'

const texts = getTexts('account')

for (const meter of findElements('[data-meter]', HTMLElement)) {
  const used = Number(meter.dataset['meter'])
  findElement('.used', HTMLElement, meter).style.width = `${used}%`
  findElement('.held', HTMLElement, meter).style.width = `${Math.min(10, 100 - used)}%`
}

findElement('[data-stats]', HTMLElement).append(
  ...(['normal', 'warn', 'full'] as const).map((level) =>
    createElement('div', { class: level }, createStat(level, createElement('strong', {}, '1,234'), ' credits')),
  ),
)

findElement('[data-empty-states]', HTMLElement).append(
  createEmptyState('key', texts.turnsEmpty),
  createEmptyState(
    'search',
    texts.noneMatch,
    createElement('button', { class: 'button quiet small', type: 'button' }, texts.clearFilter),
  ),
)

let page = 1
showRows()

function showRows(): void {
  const row = createElement(
    'li',
    {},
    createElement(
      'details',
      { class: 'row' },
      createElement(
        'summary',
        {},
        createElement(
          'span',
          { class: 'row-line' },
          createElement('code', { class: 'row-name' }, `row ${page}`),
          createElement('strong', { class: 'row-end' }, '12 credits'),
        ),
      ),
      createElement('dl', { class: 'facts' }, createElement('dt', {}, 'Request'), createElement('dd', {}, `req_${page}`)),
    ),
  )
  const turnTo = (next: number): void => {
    page = next
    showRows()
  }
  const pager = createPager({ label: 'Pager', page, hasOlder: page < 3, texts, turnTo })
  findElement('[data-rows]', HTMLElement).replaceChildren(
    createElement('ul', { class: 'rows', role: 'list' }, row),
    ...(pager === null ? [] : [pager]),
  )
}

findElement('[data-icon-button]', HTMLElement).append(createIconButton('settings', 'Tooltip', () => undefined))
findElement('[data-toast]', HTMLElement).addEventListener('click', () =>
  showToast('Deleted.', { label: 'Undo', run: () => showToast('Restored.') }),
)
setUpDrawer(
  findElement('[data-drawer]', HTMLDialogElement),
  findElement('[data-drawer-content]', HTMLElement),
  findElement('[data-drawer-opener]', HTMLElement),
)
findElement('[data-dialog-opener]', HTMLElement).addEventListener('click', () =>
  findElement('[data-dialog]', HTMLDialogElement).showModal(),
)
